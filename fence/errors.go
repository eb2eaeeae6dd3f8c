package fence

import (
	"errors"
	"fmt"
)

// Callers tell these conditions apart with errors.Is. Errors of a database, a server or the
// network are wrapped, and never turn into one of these.
var (
	// ErrStale means that a newer token has passed, so the hold of this one is over. Nothing
	// was written, except where S3.Put says otherwise. The error is a *StaleError.
	ErrStale = errors.New("stale token")

	// ErrNoToken means that the token is not positive, or absent. The hold was taken without
	// fencing. Nothing was sent or written.
	ErrNoToken = errors.New("no token")

	// ErrNoRow means that no row has this key. Nothing was written or remembered.
	ErrNoRow = errors.New("no such row")

	// ErrConflict means that the row has another version than the update expects. Nothing was
	// written. Read the row again.
	ErrConflict = errors.New("version conflict")

	// ErrUnconditional means that an object store has written although the condition of the write did
	// not hold. No guard works there. OpenS3 has written only its probe.
	ErrUnconditional = errors.New("the store ignores the condition of a write")
)

// StaleError is the refusal of a token. It matches ErrStale.
type StaleError struct {
	Token int64 // the refused token
	Last  int64 // the newest token that had passed
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d, and %d has passed", ErrStale, e.Token, e.Last)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// check refuses a number that cannot be a token.
func check(token int64) error {
	if token <= 0 {
		return fmt.Errorf("%w: %d", ErrNoToken, token)
	}
	return nil
}

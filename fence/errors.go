package fence

import (
	"errors"
	"fmt"
)

// The conditions that a caller can tell apart with errors.Is. Errors of a database, a
// server or the network are wrapped as they are, and never turn into one of these.
var (
	// ErrStale: a newer token has passed, so this one's hold is over. Nothing was
	// written. The error is a *StaleError.
	ErrStale = errors.New("stale token")

	// ErrNoToken: the token is not positive, or there is none. The hold was taken
	// without fencing. Nothing was asked or written.
	ErrNoToken = errors.New("no token")

	// ErrNoRow: no row has this key. Nothing was written, nor remembered.
	ErrNoRow = errors.New("no such row")

	// ErrConflict: the row no longer has the version that the update was made for.
	// Nothing was written; read the row again.
	ErrConflict = errors.New("version conflict")
)

// StaleError is the refusal of a token. It matches ErrStale.
type StaleError struct {
	Token int64 // the one that was refused
	Last  int64 // the newest one that had passed
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d, and %d has passed", ErrStale, e.Token, e.Last)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// check refuses what cannot be a token.
func check(token int64) error {
	if token <= 0 {
		return fmt.Errorf("%w: %d", ErrNoToken, token)
	}
	return nil
}

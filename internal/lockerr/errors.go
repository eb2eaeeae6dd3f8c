// Package lockerr holds the errors that inner packages make and that users compare. Package
// redlatch exports each of them under the same name and documents it.
package lockerr

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The conditions. See the variables of the same names in package redlatch.
var (
	ErrNotAcquired    = errors.New("not acquired")
	ErrLost           = errors.New("hold lost")
	ErrReleased       = errors.New("hold released")
	ErrRecalled       = errors.New("hold recalled")
	ErrNotCalled      = errors.New("the function was not called")
	ErrReentry        = errors.New("already held by this context")
	ErrUpgrade        = errors.New("held for reading, cannot be taken for writing")
	ErrUnknownOutcome = errors.New("outcome unknown")
	ErrNotReplicated  = errors.New("not replicated")
	ErrClosed         = errors.New("client closed")
	ErrInvalidName    = errors.New("invalid lock name")
	ErrWrongType      = errors.New("the key is not a lock of this kind")
	ErrUnsupported    = errors.New("not supported")
)

// ConfigError says which setting is wrong, and why. It is returned before anything is sent.
type ConfigError struct {
	Field  string // what is wrong; see redlatch.ConfigError
	Reason string
}

// Error names the field and the reason.
func (e *ConfigError) Error() string { return fmt.Sprintf("redlatch: %s: %s", e.Field, e.Reason) }

// NotAcquiredError is ErrNotAcquired with the answer of a server. See redlatch.NotAcquiredError.
type NotAcquiredError struct {
	Err    error
	Holder string
	Note   string
	TTL    time.Duration
}

// Error is that of Err.
func (e *NotAcquiredError) Error() string { return e.Err.Error() }

// Unwrap returns Err, which matches ErrNotAcquired.
func (e *NotAcquiredError) Unwrap() error { return e.Err }

// RecalledError is ErrRecalled with who asked, and why. See redlatch.RecalledError.
type RecalledError struct {
	Lock           string
	Author, Reason string
}

// Error names both.
func (e *RecalledError) Error() string {
	text := fmt.Sprintf("redlatch: lock %q: %v", e.Lock, ErrRecalled)
	if e.Author != "" {
		text += " by " + e.Author
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Is says that it is an ErrRecalled.
func (e *RecalledError) Is(target error) bool { return target == ErrRecalled }

// WithCause joins the reason for which ctx ended to an error, if it has ended.
func WithCause(err error, ctx context.Context) error {
	if ctx.Err() == nil {
		return err
	}
	for _, why := range []error{ctx.Err(), context.Cause(ctx)} {
		if !errors.Is(err, why) {
			err = fmt.Errorf("%w: %w", err, why)
		}
	}
	return err
}

package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
)

// Callbacks are the functions that Run calls, and their limits. Only Started is required.
type Callbacks struct {
	// Started is called when this process has become the leader. To resign, it returns. Its context ends
	// when the leadership ends, and Started must then return. The cause of that (context.Cause) matches
	// redlatch.ErrLost if the lease was lost or is about to end, and redlatch.ErrRecalled if somebody asks for the
	// lock. Run calls Started in a goroutine of its
	// own. Started need not unlock the hold.
	Started func(ctx context.Context, h *redlatch.Hold)

	// Stopped is called when the leadership is over: Started has returned and Run has tried to release
	// the lock, or Started has exceeded StopTimeout. The error is nil if Started resigned. Otherwise it
	// says why the leadership ended: it matches redlatch.ErrLost, redlatch.ErrRecalled, the cause of the end of Run's context,
	// ErrStillRunning or a *PanicError. It also matches the error of a release that failed. Default:
	// nothing is called.
	Stopped func(err error)

	// Failed is called when an attempt to take the lock failed, for example because Redis does not
	// answer. Run then tries again. Default: slog.Warn.
	Failed func(err error)

	// StepDown is how long before the end of the lease the context of Started ends, if the lease cannot
	// be renewed. Choose a time within which Started can return. StepDown counts as at most a third of
	// the lease. A leader that was paused has time for a renewal first: at most half of what is left of the lease.
	// Default: a sixth of the lease, so 5s of 30s.
	StepDown time.Duration

	// StopTimeout is how long Run waits for Started to return after its context has ended. Then Run
	// gives up with ErrStillRunning. Default: 30s.
	StopTimeout time.Duration
}

// ErrStillRunning means that Started did not return within Callbacks.StopTimeout after the end of its
// context. Run does not release the lock, because the work may still go on. It stops the renewals, so the
// lock is free after one lease at the latest. Most programs should end themselves now, because that ends the
// work for certain.
var ErrStillRunning = errors.New("the work of the leader has not ended")

// PanicError is a panic of Started. Run releases the lock, calls Stopped, and then panics with the
// PanicError.
type PanicError struct {
	Value any    // what Started panicked with
	Stack []byte // of the goroutine of Started
}

// Error contains the value and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("leader: panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// withDefaults fills in the defaults, and refuses what cannot work.
func (cb Callbacks) withDefaults() (Callbacks, error) {
	switch {
	case cb.Started == nil:
		return cb, &redlatch.ConfigError{Field: "Started", Reason: "it is nil"}
	case cb.StepDown < 0:
		return cb, &redlatch.ConfigError{Field: "StepDown", Reason: fmt.Sprintf("%v is negative", cb.StepDown)}
	case cb.StopTimeout < 0:
		return cb, &redlatch.ConfigError{Field: "StopTimeout", Reason: fmt.Sprintf("%v is negative", cb.StopTimeout)}
	}
	cb.StopTimeout = cmp.Or(cb.StopTimeout, 30*time.Second)
	if cb.Stopped == nil {
		cb.Stopped = func(error) {}
	}
	if cb.Failed == nil {
		cb.Failed = func(err error) { slog.Warn("redlatch: the election goes on after an error", "error", err) }
	}
	return cb, nil
}

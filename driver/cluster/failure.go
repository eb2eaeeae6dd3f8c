package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var (
	errClosed         = errors.New("driver closed")
	errListenerClosed = errors.New("listener closed")
	// errRetired is what a node answers that was closed.
	errRetired = errors.New("server let go, or driver closed")
)

// noAnswer says that the command timeout passed.
type noAnswer time.Duration

func (n noAnswer) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(n)) }

// bounded is ctx, ended by the command timeout of a call that began then.
func (o Options) bounded(ctx context.Context, began time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, began.Add(o.CommandTimeout), noAnswer(o.CommandTimeout))
}

// ended tells why ctx, or a bounded one, is over: noAnswer if our own timeout did it, and
// the context's error otherwise.
func ended(ctx context.Context) error {
	if late, ok := context.Cause(ctx).(noAnswer); ok {
		return late
	}
	return ctx.Err()
}

// notSent reports a command that certainly did not leave.
func notSent(reason error) error {
	return fmt.Errorf("redis cluster: %w: %w", driver.ErrNotSent, reason)
}

// foreign is an error that concerns no particular caller, or not this one: whatever else
// it says, it does not say that the caller's own context is over.
type foreign struct{ error }

func (f foreign) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(f.error, target)
}

func (f foreign) As(target any) bool { return errors.As(f.error, target) }

// failAll gives n commands one error.
func failAll(n int, err error) []driver.Reply {
	replies := make([]driver.Reply, n)
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

package rueidis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// errClosed is the reason of failures after Driver.Close.
var errClosed = errors.New("driver closed")

// noAnswer says that the command timeout passed.
type noAnswer time.Duration

func (n noAnswer) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(n)) }

// dropped says that Driver.Drop has ended an era of connections, and why.
type dropped struct{ reason error }

func (d dropped) Error() string { return fmt.Sprintf("connection dropped: %v", d.reason) }

// bounded is ctx, ended by the command timeout at the latest.
func (o Options) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, o.CommandTimeout, noAnswer(o.CommandTimeout))
}

// endingWith is ctx, ended by another one as well, and then with its cause.
func endingWith(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

// ended tells why ctx, or one made of it here, is over: our own reason if we did it, and
// the context's error otherwise. It is nil while ctx lasts.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	switch cause.(type) {
	case noAnswer, dropped:
		return cause
	}
	if cause == errClosed {
		return errClosed
	}
	return err
}

// unknown reports a command that may have reached the server.
func (o Options) unknown(reason error) error {
	return fmt.Errorf("redis %s: %w", o.Address, reason)
}

// notSent reports a command that certainly has not.
func (o Options) notSent(reason error) error {
	return fmt.Errorf("redis %s: %w: %w", o.Address, driver.ErrNotSent, reason)
}

// unreachable reports commands that were not sent because no connection could be made,
// unless it was ctx that ended the attempt.
func (d *Driver) unreachable(ctx context.Context, reason error) error {
	if ctx.Err() != nil {
		return d.options.notSent(reason)
	}
	return d.options.notSent(fmt.Errorf("%w: %w", driver.ErrNoConnection, foreign(reason)))
}

// foreign keeps the text of an error that concerns no particular caller, and
// makes sure that none mistakes it for the end of its own context. Network
// timeouts, too, claim to be context.DeadlineExceeded.
func foreign(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errors.New(err.Error())
	}
	return err
}

// patient is ctx without its deadline. rueidis ends the whole connection when
// a deadline passes; a cancellation ends just the one call. The end of ctx
// reaches rueidis either way.
func patient(ctx context.Context) context.Context {
	if _, dated := ctx.Deadline(); dated {
		return undated{ctx}
	}
	return ctx
}

type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

package redlatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// release gives one hold back.
func (c *Client) release(ctx context.Context, t *tenure, h *Hold) error {
	released, err := c.releaseOne(ctx, t, h)
	if released {
		c.observe(Released, t.point, t.owner, time.Since(h.since), err)
	}
	return err
}

func (c *Client) releaseOne(ctx context.Context, t *tenure, h *Hold) (released bool, err error) {
	if !c.gate.enterToRelease() {
		<-c.closed // Close gives every hold back
	} else {
		defer c.gate.leave()
	}
	ctx = detached(ctx)
	if t.shared != nil && !t.ended() {
		limited, give := c.takeTurnToRelease(ctx, t)
		defer give()
		ctx = limited
	}
	return c.releaseInTurn(ctx, t, h)
}

// releaseInTurn is releaseOne for who has the owner's turn, and a context that does not end. It
// reports whether the hold was held until then.
func (c *Client) releaseInTurn(ctx context.Context, t *tenure, h *Hold) (released bool, err error) {
	remaining, err := t.drop(h)
	switch {
	case errors.Is(err, ErrReleased):
		return false, nil
	case err != nil:
		return false, err
	case remaining > 0:
		return true, c.lower(ctx, t, h)
	}
	t.leave()
	return true, c.free(ctx, t, h)
}

// detached is a context that does not end with ctx. What bounds a release is the runner.
func detached(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// lower gives back a hold that is not the owner's last. If that was its last write hold, it
// reads on, and other readers may enter.
func (c *Client) lower(ctx context.Context, t *tenure, h *Hold) error {
	request := t.lower(h.read)
	result, err := c.run(ctx, c.releases, request)
	released, err := c.readReleased(t, result, err)
	if err != nil {
		t.owe(h.read)
		return err
	}
	if !released.Held {
		t.Lost(errGoneAtRelease)
		return lostAtRelease(t)
	}
	t.extend(result.Asked, request.span)
	if released.Freed {
		c.hub.Wake(t.point.queue, nil)
	}
	return nil
}

// free gives back the last hold of a tenure that has left the engine. If somebody
// waits for the lock in this process, the request of the first of them goes along.
func (c *Client) free(ctx context.Context, t *tenure, h *Hold) error {
	if heirs := c.heirs(t, h.read); heirs != nil {
		return c.freeAll(ctx, []departure{{t, h.read, heirs}})[0]
	}
	result, err := c.run(ctx, c.releases, t.lower(h.read))
	return c.freed(t, false, result, err)
}

// heirs says that a tenure's last hold, of that side, is about to be released, and picks the
// waiters that the lock is handed over to, if there are any. Of a read hold there are none:
// others may still read, and whoever waits here looks when the release has been answered.
func (c *Client) heirs(t *tenure, read bool) []*waitqueue.Waiter {
	next := c.hub.Release(t.point.queue, t.waiter, !t.point.fair && !read)
	if next == nil {
		return nil
	}
	return append([]*waitqueue.Waiter{next}, next.Batch()...)
}

// departure is a tenure whose last hold, of that side, is released, and who is to have the lock
// next.
type departure struct {
	t     *tenure
	read  bool
	heirs []*waitqueue.Waiter
}

// freeAll sends several releases, each with the bids of its heirs behind it, in one request.
func (c *Client) freeAll(ctx context.Context, all []departure) []error {
	if len(all) == 0 {
		return nil
	}
	var calls []errand
	for _, d := range all {
		calls = append(calls, d.t.lower(d.read))
		calls = append(calls, bids(d.heirs)...)
	}
	results, _ := c.runAll(ctx, c.releases, calls...)
	errs := make([]error, len(all))
	for i, d := range all {
		n := 1 + len(d.heirs)
		c.settle(d.heirs, calls[1:n], results[1:n])
		errs[i] = c.freed(d.t, n > 1, results[0], results[0].Failed())
		calls, results = calls[n:], results[n:]
	}
	return errs
}

// freed takes the answer to the release of a last hold, and lets the waiters of this process
// know. After a repetition, "not held" is what the first request left behind: the deadline had
// not passed when it was sent, so the lock was held then. Of a hold in doubt nobody can say
// that.
func (c *Client) freed(t *tenure, claimed bool, result script.Result, err error) error {
	released, err := c.readReleased(t, result, err)
	if released.Freed || !released.Held {
		c.hub.Released(t.point.queue, claimed, released.Told, yield(result.Asked))
	}
	if err == nil && !released.Held && (!result.Repeated || t.doubted) {
		return lostAtRelease(t)
	}
	return err
}

// readReleased reads the reply to a release.
func (c *Client) readReleased(t *tenure, result script.Result, err error) (released script.Released, _ error) {
	if err == nil {
		released, err = script.ReadReleased(result.Reply)
	}
	if err != nil {
		return released, failure("unlock", t.point.name, err)
	}
	if released.PublishDenied {
		c.mute.Do(func() {
			c.config.Logger.Warn("redlatch: the server refused to publish; waiters are not woken but look by themselves", "channel", t.point.channel)
		})
	}
	return released, nil
}

// giveBack releases what was taken for a waiter that has left, and tells it whether nothing is
// left of it.
func (c *Client) giveBack(t *tenure, a answer) {
	var err error
	switch {
	case a.hold != nil:
		if c.gate.enterToRelease() { // otherwise Close gives it back, and waits for this
			defer c.gate.leave()
			_, err = c.releaseInTurn(context.Background(), t, a.hold)
		}
	case t.unsettled:
		err = c.withdraw(t)
	default:
		t.unprotect()
	}
	t.returned <- err == nil
}

var errGoneAtRelease = errors.New("it was gone before it was released")

func lostAtRelease(t *tenure) error {
	return fmt.Errorf("redlatch: unlock %q: %w: %w", t.point.name, ErrLost, errGoneAtRelease)
}

// yield is for how long the local waiters leave the lock to others that they have
// been offered it: time for a message and an attempt, each about as long as the
// release took.
func yield(asked time.Time) time.Duration {
	return min(max(2*time.Since(asked), time.Millisecond), 10*time.Millisecond)
}

package redlatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/wake"
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
	if err != nil {
		t.owe(h.read)
		return failure("unlock", t.point.name, err)
	}
	released, err := script.ReadReleased(result.Reply)
	if err != nil {
		return failure("unlock", t.point.name, err)
	}
	if !released.Held {
		t.Lost(errGoneAtRelease)
		return lostAtRelease(t)
	}
	t.extend(result.Asked, request.span)
	if released.Freed {
		c.hub.Look(t.point.queue, nil)
	}
	return nil
}

// free gives back the last hold of a tenure that has left the engine. If somebody
// waits for the lock in this process, the request of the first of them goes along.
func (c *Client) free(ctx context.Context, t *tenure, h *Hold) error {
	next := c.heir(t, h.read)
	if next != nil {
		return c.freeAll(ctx, []departure{{t, h.read, next}})[0]
	}
	result, err := c.run(ctx, c.releases, t.lower(h.read))
	return c.freed(t, false, result, err)
}

// heir says that a tenure's last hold, of that side, is about to be released, and picks the
// waiter that the lock is handed over to, if there is one.
func (c *Client) heir(t *tenure, read bool) *wake.Waiter {
	return c.hub.Release(t.point.queue, t.waiter, t.point.kind.handsOver() && !read)
}

// departure is a tenure whose last hold, of that side, is released, and who is to have the lock
// next.
type departure struct {
	t    *tenure
	read bool
	next *wake.Waiter
}

// freeAll sends several releases, each with the bids of its heirs behind it, in one request.
func (c *Client) freeAll(ctx context.Context, all []departure) []error {
	var calls []errand
	heirs := make([][]*wake.Waiter, len(all))
	for i, d := range all {
		calls = append(calls, d.t.lower(d.read))
		if d.next != nil {
			heirs[i] = append([]*wake.Waiter{d.next}, d.next.Company()...)
			calls = append(calls, bids(heirs[i])...)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	results, _ := c.runAll(ctx, c.releases, calls...)
	errs := make([]error, len(all))
	for i, d := range all {
		n := 1 + len(heirs[i])
		c.settle(heirs[i], calls[1:n], results[1:n])
		errs[i] = c.freed(d.t, d.next != nil, results[0], results[0].Failed())
		calls, results = calls[n:], results[n:]
	}
	return errs
}

// freed takes the answer to the release of a last hold, and lets the waiters of this process
// know.
func (c *Client) freed(t *tenure, claimed bool, result script.Result, err error) error {
	released, err := c.readFreed(t, result, err)
	if err != nil || released.Freed || !released.Held {
		c.hub.Released(t.point.queue, claimed, released.Told, yield(result.Asked))
	}
	return err
}

// giveBack releases what was taken for a waiter that has left, and tells it whether nothing is
// left of it.
func (c *Client) giveBack(t *tenure, a answer) {
	nothing := true
	switch {
	case a.hold != nil:
		if c.gate.enterToRelease() { // otherwise Close gives it back, and waits for this
			defer c.gate.leave()
			_, err := c.releaseInTurn(context.Background(), t, a.hold)
			nothing = err == nil
		}
	case t.unsettled:
		_, err := c.runAll(context.Background(), c.releases, t.lower(t.point.read))
		nothing = err == nil
		c.hub.Look(t.point.queue, t.waiter)
	default:
		t.unprotect()
	}
	t.returned <- nothing
}

// readFreed reads the reply to the release of a last hold. After a repetition, "not
// held" is what the first request left behind: the deadline had not passed when it
// was sent, so the lock was held then. Of a hold in doubt nobody can say that.
func (c *Client) readFreed(t *tenure, result script.Result, err error) (script.Released, error) {
	if err != nil {
		return script.Released{}, failure("unlock", t.point.name, err)
	}
	released, err := script.ReadReleased(result.Reply)
	switch {
	case err != nil:
		return released, failure("unlock", t.point.name, err)
	case released.Mute:
		c.mute.Do(func() {
			c.config.Logger.Warn("redlatch: the server refused to publish; waiters are not woken but look by themselves", "channel", t.point.channel)
		})
	case !released.Held && (!result.Repeated || t.doubted):
		return released, lostAtRelease(t)
	}
	return released, nil
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

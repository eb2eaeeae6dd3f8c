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
	if !c.gate.enterToRelease() {
		<-c.closed // Close gives every hold back
	} else {
		defer c.gate.leave()
	}
	ctx = detached(ctx)
	if t.shared != nil {
		defer c.takeTurn(t)()
	}
	return c.releaseInTurn(ctx, t, h)
}

// releaseInTurn is release for who has the owner's turn, and a context that does not end.
func (c *Client) releaseInTurn(ctx context.Context, t *tenure, h *Hold) error {
	remaining, dropped, err := t.drop(h)
	switch {
	case errors.Is(err, ErrReleased):
		return nil
	case err != nil:
		return err
	case dropped && remaining > 0:
		err = c.lower(ctx, t)
	default:
		t.leave()
		err = c.free(ctx, t)
	}
	c.observe(Released, t.point, t.owner, h.since, err)
	return err
}

// detached is a context that does not end with ctx. What bounds a release is the runner.
func detached(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// takeTurn waits for the turn of a shared owner, and returns how to give it back. If the
// owner's other request hangs, it goes on without the turn: the hold has to end, and each
// request sets the count anew.
func (c *Client) takeTurn(t *tenure) (give func()) {
	s := t.shared.sit(t.point)
	timer := time.NewTimer(c.config.ReleaseTimeout)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn; t.shared.rise(t.point, s) }
	case <-timer.C:
		return func() { t.shared.rise(t.point, s) }
	}
}

// lower gives back a hold that is not the owner's last.
func (c *Client) lower(ctx context.Context, t *tenure) error {
	result, err := c.run(ctx, c.releases, t.lower())
	if err != nil {
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
	t.extend(result.Asked)
	return nil
}

// free gives back the last hold of a tenure that has left the engine. If somebody
// waits for the lock in this process, the request of the first of them goes along.
func (c *Client) free(ctx context.Context, t *tenure) error {
	if !t.point.side.handsOver() {
		result, err := c.run(ctx, c.releases, t.lower())
		_, err = c.readFreed(t, result, err)
		return err
	}
	next := c.hub.Claim(t.point.channel)
	var result script.Result
	var err error
	if next == nil {
		result, err = c.run(ctx, c.releases, t.lower())
	} else {
		result, err = c.handOver(ctx, t.lower(), append([]*wake.Waiter{next}, next.Company()...))
	}
	released, err := c.readFreed(t, result, err)
	c.hub.Announced(t.point.channel, next != nil, err == nil && !released.Mute, released.Told, yield(result.Asked))
	return err
}

// handOver sends a release and the bids of the first local waiters in one request.
func (c *Client) handOver(ctx context.Context, release errand, heirs []*wake.Waiter) (script.Result, error) {
	results, err := c.runAll(ctx, c.releases, append([]errand{release}, bids(heirs)...)...)
	c.settle(heirs, results[1:], err)
	return results[0], results[0].Or(err)
}

// giveBack releases what was taken for a waiter that has left. The turn of its owner is
// still its own (Client.endTurn).
func (c *Client) giveBack(t *tenure, a answer) {
	defer close(t.abandoned)
	switch {
	case a.hold != nil:
		if c.gate.enterToRelease() { // otherwise Close gives it back, and waits for this
			defer c.gate.leave()
			_ = c.releaseInTurn(context.Background(), t, a.hold)
		}
	case t.unsettled:
		_, over := c.takeBack(t)
		<-over
	default:
		t.unprotect()
	}
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

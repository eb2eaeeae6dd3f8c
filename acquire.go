package redlatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// acquire takes the lock at p as the context and the options ask for it.
func (c *Client) acquire(ctx context.Context, p *point, wait time.Duration, opts []LockOption) (*Hold, error) {
	want, err := c.request(wait, opts)
	if err != nil {
		return nil, err
	}
	return c.acquireOn(ctx, p, want)
}

// acquireOn takes the lock at p as the request says.
func (c *Client) acquireOn(ctx context.Context, p *point, want request) (*Hold, error) {
	if p.err != nil {
		return nil, p.err
	}
	if !c.gate.enter() {
		return nil, fmt.Errorf("redlatch: lock %q: %w", p.name, ErrClosed)
	}
	defer c.gate.leave()
	if ctx.Err() != nil {
		return nil, c.notAcquired(ctx, p, answer{})
	}

	if c.config.Observer == nil {
		return c.obtain(ctx, p, want)
	}
	began := time.Now()
	h, err := c.obtain(ctx, p, want)
	if err != nil {
		c.observe(NotAcquired, p, "", began, err)
	} else {
		c.observe(Acquired, p, h.Owner(), began, nil)
	}
	return h, err
}

// obtain takes the lock, and has it confirmed by replicas if that is asked for.
func (c *Client) obtain(ctx context.Context, p *point, want request) (*Hold, error) {
	h, err := c.acquireAs(ctx, p, want)
	if err != nil || want.replicas == 0 {
		return h, err
	}
	if err := c.replicate(ctx, h, want); err != nil {
		return nil, errors.Join(err, h.Unlock(ctx))
	}
	return h, nil
}

// acquireAs finds out which owner asks.
func (c *Client) acquireAs(ctx context.Context, p *point, want request) (*Hold, error) {
	shared := c.ownerOf(ctx)
	if err := c.deadlock(ctx, p, shared); err != nil {
		return nil, err
	}
	limited := ctx
	if want.wait > 0 && want.wait != forever {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, want.wait)
		defer cancel()
	}
	if c.session != nil && !want.fixed {
		c.session.Ready(limited)
	}
	if shared != nil {
		return c.acquireShared(ctx, limited, p, shared, want)
	}
	return c.contend(limited, c.newTenure(ctx, p, c.nextOwner(), nil, want))
}

// acquireShared takes the lock for an owner that may hold it already.
func (c *Client) acquireShared(ctx, limited context.Context, p *point, shared *owner, want request) (*Hold, error) {
	s := shared.sit(p)
	if want.wait == 0 {
		select {
		case s.turn <- struct{}{}:
		default:
			shared.rise(p, s)
			return nil, fmt.Errorf("redlatch: lock %q: %w: its owner is just asking for it", p.name, ErrNotAcquired)
		}
	} else {
		select {
		case s.turn <- struct{}{}:
		case <-limited.Done():
			shared.rise(p, s)
			return nil, c.notAcquired(ctx, p, answer{})
		case <-c.closing:
			shared.rise(p, s)
			return nil, fmt.Errorf("redlatch: lock %q: %w", p.name, ErrClosed)
		}
	}
	t := shared.current(s)
	if t != nil {
		defer c.endTurn(t, s)
		return c.reenter(ctx, limited, t, want)
	}
	t = c.newTenure(ctx, p, shared.name, shared, want)
	defer c.endTurn(t, s)
	h, err := c.contend(limited, t)
	if err == nil {
		shared.settle(s, t)
	}
	return h, err
}

// endTurn leaves the seat to the owner's next request: when nothing is under way any more
// that gives back what this one may have taken. In Redis the owner is the same, so it would
// take the lock away from the next.
func (c *Client) endTurn(t *tenure, s *seat) {
	leave := func() {
		<-s.turn
		t.shared.rise(t.point, s)
	}
	if t.debt == nil {
		leave()
		return
	}
	c.background.Go(func() {
		<-t.debt
		leave()
	})
}

// reenter takes one more hold of a tenure. A request whose outcome stays unknown
// needs no compensation: every later request of the owner sets the count anew.
func (c *Client) reenter(ctx, limited context.Context, t *tenure, want request) (*Hold, error) {
	result, err := c.run(limited, c.runner, t.raise(want))
	if err != nil {
		return nil, withCause(failure("lock", t.point.name, err), ctx)
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil {
		return nil, failure("lock", t.point.name, err)
	}
	if got.Granted {
		if h := t.add(ctx, want, result.Asked, time.Now(), got.Token); h != nil {
			return h, nil
		}
		// The deadline passed while the request was under way. The loss stands,
		// and what this request prolonged goes back.
		_, t.debt = c.takeBack(t)
	}
	t.Lost(errOuterGone)
	return nil, fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrLost, errOuterGone)
}

var errOuterGone = errors.New("the owner's outer hold was gone when it re-entered")

// answer is what one attempt to acquire came to.
type answer struct {
	hold   *Hold         // granted
	ttl    time.Duration // otherwise: of the holder, negative if it has none
	holder string
	err    error // or there was no answer
}

// contend takes the lock for a new tenure: it tries, and waits unless it is not to.
func (c *Client) contend(limited context.Context, t *tenure) (*Hold, error) {
	var a answer
	// Whoever comes while others wait stands behind them, and does not ask, unless they
	// wait for its own owner: the reader inside a write hold.
	if t.want.wait == 0 || !c.hub.Crowded(t.line()) || t.inside() {
		a = c.try(limited, t)
		if a.hold != nil {
			return a.hold, nil
		}
		if a.err != nil || t.want.wait == 0 {
			return nil, c.giveUp(limited, t, a)
		}
	}
	return c.wait(limited, t, a)
}

// try asks Redis for the lock once.
func (c *Client) try(ctx context.Context, t *tenure) answer {
	result, err := c.run(ctx, c.runner, t.bid())
	return t.read(result, err)
}

// read takes the reply to a bid. A grant that arrives when it can no longer be
// trusted is no grant: the next attempt finds its own field and extends it.
func (t *tenure) read(result script.Result, err error) answer {
	if err != nil {
		var unknown *script.UnknownError
		t.unsettled = t.unsettled || errors.As(err, &unknown)
		return answer{err: err}
	}
	got, err := script.ReadAcquired(result.Reply)
	now := time.Now()
	switch {
	case err != nil:
		return answer{err: err}
	case !got.Granted:
		t.unsettled, t.standing = false, t.queued()
		return answer{ttl: got.TTL, holder: got.Holder}
	case t.late(result.Asked, now):
		t.unsettled = true
		return answer{holder: t.owner}
	}
	t.unsettled, t.standing = false, false
	return answer{hold: t.add(t.parent, t.want, result.Asked, now, got.Token)}
}

// line is the channel on which the tenure's waiter is told that it may have the lock.
func (t *tenure) line() string { return t.point.side.line(t.owner) }

// inside says that the owner holds the other side of the lock already.
func (t *tenure) inside() bool {
	return t.shared != nil && t.point.side.shared() && t.shared.holds(place{t.point.channel, false})
}

// queued says that a bid which is not granted leaves a waiter in the queue.
func (t *tenure) queued() bool { return t.point.side.queues() && t.want.wait != 0 }

// late says whether a lease granted to a request of that moment is over already.
func (t *tenure) late(asked, now time.Time) bool {
	return renew.Term{Asked: asked, Lease: t.want.lease, Until: t.want.until(asked)}.Over(now)
}

// giveUp ends the attempts of a tenure of which the last came to a. It takes back
// what may have been taken, and leaves the queue, and returns the error that says how it
// ended.
func (c *Client) giveUp(limited context.Context, t *tenure, a answer) error {
	if t.standing || t.unsettled {
		var confirmed bool
		if confirmed, t.debt = c.takeBack(t); confirmed {
			t.unsettled = false
		}
	} else {
		t.unprotect()
	}
	return c.verdict(limited, t, a)
}

// verdict is the error that says how the attempts of a tenure ended.
func (c *Client) verdict(limited context.Context, t *tenure, a answer) error {
	if t.unsettled {
		err := fmt.Errorf("redlatch: lock %q: %w", t.point.name, ErrUnknownOutcome)
		if a.err != nil {
			err = fmt.Errorf("%w: %w", err, bare(a.err))
		}
		return withCause(err, t.parent)
	}
	if a.err == nil || limited.Err() != nil && !errors.Is(a.err, driver.ErrNoConnection) {
		return c.notAcquired(t.parent, t.point, a)
	}
	return withCause(failure("lock", t.point.name, bare(a.err)), t.parent)
}

// bare strips the mark of an unknown outcome from an error, once it is resolved or
// said by ErrUnknownOutcome.
func bare(err error) error {
	var unknown *script.UnknownError
	if errors.As(err, &unknown) {
		return unknown.Err
	}
	return err
}

// grace is for how long a caller whose time is up waits for the confirmation that
// nothing is held. With a server that answers it takes one round trip.
const grace = 25 * time.Millisecond

// takeBack releases what attempts without a reply may have taken, and leaves the queue
// where there is one. It does so on its own time, and reports whether that was confirmed
// at once, and when it is over. The request follows the bid on the same connection, so it
// cannot overtake it.
func (c *Client) takeBack(ts ...*tenure) (confirmed bool, over <-chan struct{}) {
	calls := make([]errand, len(ts))
	for i, t := range ts {
		calls[i] = t.lower()
	}
	done, ended := make(chan error, 1), make(chan struct{})
	c.background.Go(func() {
		defer close(ended)
		_, err := c.runAll(context.Background(), c.releases, calls...)
		done <- err
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return err == nil, ended
	case <-timer.C:
		return false, ended
	}
}

// notAcquired is the error of a wait that ended, with what is known of the holder.
func (c *Client) notAcquired(ctx context.Context, p *point, a answer) error {
	err := fmt.Errorf("redlatch: lock %q: %w", p.name, ErrNotAcquired)
	switch {
	case a.holder == "":
	case a.ttl < 0:
		err = fmt.Errorf("%w: held by %s, which never expires", err, a.holder)
	default:
		err = fmt.Errorf("%w: held by %s, %v left when last seen", err, a.holder, a.ttl)
	}
	return withCause(err, ctx)
}

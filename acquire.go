package redlatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
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
	if c.config.Observer == nil {
		return c.obtain(ctx, p, want)
	}
	began := time.Now()
	h, err := c.obtain(ctx, p, want)
	told := false
	defer func() {
		if !told && h != nil { // the observer panics, and nobody will have the hold
			_ = h.Unlock(ctx)
		}
	}()
	if err != nil {
		c.observe(NotAcquired, p, "", time.Since(began), err)
	} else {
		c.observe(Acquired, p, h.Owner(), time.Since(began), nil)
	}
	told = true
	return h, err
}

// obtain takes the lock, and has it confirmed by replicas if that is asked for.
func (c *Client) obtain(ctx context.Context, p *point, want request) (*Hold, error) {
	if !c.gate.enter() {
		return nil, fmt.Errorf("redlatch: lock %q: %w", p.name, ErrClosed)
	}
	defer c.gate.leave()
	if ctx.Err() != nil {
		return nil, c.notAcquired(ctx, p, answer{})
	}
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
	return c.contend(limited, c.newTenure(ctx, p, nil, want))
}

// acquireShared takes the lock for an owner that may hold it already.
func (c *Client) acquireShared(ctx, limited context.Context, p *point, shared *owner, want request) (*Hold, error) {
	for {
		t, made := shared.at(p, func() *tenure { return c.newTenure(ctx, p, shared, want) })
		if !made {
			if err := c.takeTurn(ctx, limited, t, want.wait != 0); err != nil {
				return nil, err
			}
		}
		var h *Hold
		var err error
		ended := t.ended()
		switch {
		case made:
			if h, err = c.contend(limited, t); err != nil {
				t.cancel()
			}
		case !ended:
			h, err = c.reenter(ctx, limited, t, p, want)
		}
		<-t.turn
		if !ended {
			return h, err
		}
	}
}

// reenter takes one more hold of a tenure. A request whose outcome stays unknown
// needs no compensation: every later request of the owner sets the counts anew.
func (c *Client) reenter(ctx, limited context.Context, t *tenure, p *point, want request) (*Hold, error) {
	switch n := t.held(); {
	case !p.read && t.reads():
		return nil, errUpgrade(p)
	case n >= maxHolds:
		return nil, fmt.Errorf("redlatch: lock %q: %w: its owner has %d holds of it", p.name, ErrUnsupported, n)
	}
	request := t.raise(p.read, want)
	result, err := c.run(limited, c.runner, request)
	if err != nil {
		return nil, c.refusal(ctx, limited, p, answer{err: err})
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil {
		return nil, failure("lock", p.name, err)
	}
	if got.Granted {
		if h := t.add(ctx, p.read, want, result.Asked, request.span, got.Token); h != nil {
			return h, nil
		}
		// The deadline passed while the request was under way. The loss stands,
		// and what this request prolonged goes back.
		c.takeBack(t)
	}
	t.Lost(errOuterGone)
	return nil, fmt.Errorf("redlatch: lock %q: %w: %w", p.name, ErrLost, errOuterGone)
}

// maxHolds is the highest count that the scripts take for one.
const maxHolds = 65536

var errOuterGone = errors.New("the owner's outer hold was gone when it re-entered")

// answer is what one attempt to acquire came to.
type answer struct {
	hold   *Hold         // granted
	ttl    time.Duration // otherwise: of the holder, negative if it has none
	holder string        // "" if none was seen
	err    error         // or there was no answer
}

// contend takes the lock for a new tenure: it tries, and waits unless it is not to.
func (c *Client) contend(limited context.Context, t *tenure) (*Hold, error) {
	var a answer
	// Whoever comes while others wait stands behind them, and does not ask.
	if t.want.wait == 0 || !c.hub.HasWaiters(t.line()) {
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
	bid := t.bid()
	result, err := c.run(ctx, c.runner, bid)
	return t.read(bid.span, result, err)
}

// read takes the reply to a bid. A grant that arrives when it can no longer be
// trusted is no grant: the next attempt finds its own field and extends it.
func (t *tenure) read(span time.Duration, result script.Result, err error) answer {
	if err != nil {
		_, unknown := errors.AsType[*script.UnknownError](err)
		t.unsettled = t.unsettled || unknown
		return answer{err: err}
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil {
		t.unsettled = t.unsettled || result.Repeated // it was refused, and an earlier one maybe not
		return answer{err: err}
	}
	if !got.Granted {
		t.unsettled, t.standing = false, t.queued()
		return answer{ttl: got.TTL, holder: got.Holder}
	}
	if time.Now().Before(renew.Trust(result.Asked, span)) {
		if h := t.add(t.parent, t.point.read, t.want, result.Asked, span, got.Token); h != nil {
			t.unsettled, t.standing = false, false
			return answer{hold: h}
		}
	}
	t.unsettled = true
	return answer{holder: t.owner}
}

// line is the key of the line in which the tenure waits. That for a fair lock is its own, with
// a channel of its own: only the next in turn is told.
func (t *tenure) line() string {
	if t.point.fair {
		return waitqueue.Key(t.point.channel+":"+t.owner, t.point.name)
	}
	return t.point.queue
}

// queued says that a bid which is not granted leaves a waiter in the queue.
func (t *tenure) queued() bool { return t.point.fair && t.want.wait != 0 }

// giveUp ends the attempts of a tenure of which the last came to a. It takes back
// what may have been taken, and leaves the queue, and returns the error that says how it
// ended.
func (c *Client) giveUp(limited context.Context, t *tenure, a answer) error {
	if t.standing || t.unsettled {
		t.unsettled = !c.takeBack(t) && t.unsettled
	} else {
		t.unprotect()
	}
	return c.verdict(limited, t, a)
}

// verdict is the error that says how the attempts of a tenure ended.
func (c *Client) verdict(limited context.Context, t *tenure, a answer) error {
	if !t.unsettled {
		a.err = bare(a.err)
		return c.refusal(t.parent, limited, t.point, a)
	}
	err := fmt.Errorf("redlatch: lock %q: %w", t.point.name, ErrUnknownOutcome)
	if a.err != nil {
		err = fmt.Errorf("%w: %w", err, bare(a.err))
	}
	return withCause(err, t.parent)
}

// refusal is the error of an attempt that has taken nothing, or of a repeated one of which that
// is not known.
func (c *Client) refusal(ctx, limited context.Context, p *point, a answer) error {
	_, unknown := errors.AsType[*script.UnknownError](a.err)
	_, refused := errors.AsType[*driver.ServerError](a.err)
	switch {
	case a.err == nil:
		return c.notAcquired(ctx, p, a)
	case refused && a.holder != "" && !unknown:
		return fmt.Errorf("%w: %w", c.notAcquired(ctx, p, a), a.err)
	case !refused && !unknown && limited.Err() != nil && !errors.Is(a.err, driver.ErrNoConnection):
		return c.notAcquired(ctx, p, a)
	}
	return withCause(failure("lock", p.name, a.err), ctx)
}

// bare strips the mark of an unknown outcome from an error, once it is resolved or
// said by ErrUnknownOutcome.
func bare(err error) error {
	if unknown, ok := errors.AsType[*script.UnknownError](err); ok {
		return unknown.Err
	}
	return err
}

// grace is for how long a caller whose time is up waits for the confirmation that
// nothing is held. With a server that answers it takes one round trip.
const grace = 25 * time.Millisecond

// takeBack is withdraw on its own time. It reports whether that was confirmed at once.
func (c *Client) takeBack(ts ...*tenure) (confirmed bool) {
	done := make(chan bool, 1)
	c.background.Go(func() { done <- c.withdraw(ts...) == nil })
	return within(grace, done)
}

// withdraw releases what attempts without a reply may have taken, and leaves the queue where
// there is one. The request follows the bid on the same connection, so it cannot overtake it.
func (c *Client) withdraw(ts ...*tenure) (err error) {
	calls := make([]errand, len(ts))
	for i, t := range ts {
		calls[i] = t.lower(t.point.read)
	}
	results, _ := c.runAll(context.Background(), c.releases, calls...)
	for i, t := range ts {
		if _, failed := c.readReleased(t, results[i], results[i].Failed()); !errors.Is(failed, ErrWrongType) {
			err = errors.Join(err, failed) // what is no such lock has nothing of the attempt
		}
		c.hub.Wake(t.point.queue, t.waiter)
	}
	return err
}

// notAcquired is the error of a wait that ended, with what is known of the holder.
func (c *Client) notAcquired(ctx context.Context, p *point, a answer) error {
	err := fmt.Errorf("redlatch: lock %q: %w", p.name, ErrNotAcquired)
	switch {
	case a.holder == "":
	case a.ttl < 0 && p.fair: // only the next in turn is told
		err = fmt.Errorf("%w: held by %s", err, protocol.Show(a.holder))
	case a.ttl < 0:
		err = fmt.Errorf("%w: held by %s, which never expires", err, protocol.Show(a.holder))
	default:
		err = fmt.Errorf("%w: held by %s, %v left when last seen", err, protocol.Show(a.holder), a.ttl)
	}
	return refusal{withCause(err, ctx), a}
}

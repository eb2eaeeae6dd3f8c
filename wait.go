package redlatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// wait stands in the local line until the lock is granted or the wait ends. Only the
// front of the line asks Redis; a release of this process may ask for it.
func (c *Client) wait(limited context.Context, t *tenure, last answer) (*Hold, error) {
	w := c.join(t)
	if t.queued() {
		c.heart.add(t)
		defer c.heart.remove(t)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	most := c.pollCap(t)
	for {
		turn := w.Turn(time.Now())
		var a answer
		switch {
		case turn.Result != nil:
			a = turn.Result.(answer)
		case turn.Try:
			a = c.tryTogether(limited, t, w.Batch())
			if a.err != nil {
				w.Leave()
				a.ttl, a.holder = last.ttl, last.holder
				return nil, c.giveUp(limited, t, a)
			}
		default:
			if err := c.sleep(limited, w, turn, timer); err != nil {
				return c.endWait(limited, w, t, last)
			}
			continue
		}
		if a.hold != nil {
			w.Enter(t.next())
			return a.hold, nil
		}
		if a.err != nil {
			w.Tried(time.Time{}) // the hand-over failed: ask for oneself
			continue
		}
		last = a
		w.Tried(time.Now().Add(nap(a.ttl, most)))
	}
}

// Joined makes the waiter known to whoever claims it.
func (t *tenure) Joined(w *waitqueue.Waiter) { t.waiter = w }

// pollCap is the longest nap of a contender. Waiters in a queue are woken by the beats
// of their process as well, and would all be contenders: they look more seldom.
func (c *Client) pollCap(t *tenure) time.Duration {
	if t.queued() {
		return 6 * c.config.PollCap
	}
	return c.config.PollCap
}

// join puts a waiter into the line of its lock.
func (c *Client) join(t *tenure) *waitqueue.Waiter {
	if t.point.read {
		return c.hub.JoinReader(t.line(), t)
	}
	return c.hub.Join(t.line(), t)
}

// next is when the waiter behind a tenure that has just been granted is to look at the
// lock: at once if both may hold it, and otherwise when the lease is over or at the poll
// cap, like after an attempt of its own.
func (t *tenure) next() time.Time {
	if t.point.read {
		return time.Time{}
	}
	return time.Now().Add(nap(t.want.lease, t.client.config.PollCap))
}

// tryTogether asks Redis for the lock, for a waiter and for those that can hold it
// together with it, in one request.
func (c *Client) tryTogether(ctx context.Context, t *tenure, company []*waitqueue.Waiter) answer {
	if len(company) == 0 {
		return c.try(ctx, t)
	}
	all := append([]errand{t.bid()}, bids(company)...)
	results, _ := c.runAll(ctx, c.runner, all...)
	c.settle(company, all[1:], results[1:])
	return t.read(all[0].span, results[0], results[0].Failed())
}

// bids are the requests of claimed waiters.
func bids(claimed []*waitqueue.Waiter) []errand {
	all := make([]errand, len(claimed))
	for i, w := range claimed {
		all[i] = w.Value.(*tenure).bid()
	}
	return all
}

// settle tells claimed waiters what their bids came to. What was taken for one that has
// left meanwhile goes back.
func (c *Client) settle(claimed []*waitqueue.Waiter, bids []errand, results []script.Result) {
	for i, w := range claimed {
		t := w.Value.(*tenure)
		if a := t.read(bids[i].span, results[i], results[i].Failed()); !w.Complete(a, a.hold != nil) {
			c.background.Go(func() { c.giveBack(t, a) })
		}
	}
}

// sleep waits for the next thing to do. Only the contender goes by the clock.
func (c *Client) sleep(limited context.Context, w *waitqueue.Waiter, turn waitqueue.Turn, timer *time.Timer) error {
	var alarm <-chan time.Time
	if turn.Front {
		timer.Reset(time.Until(turn.At))
		alarm = timer.C
	}
	select {
	case <-w.Woken():
	case <-alarm:
	case <-limited.Done():
		return limited.Err()
	case <-c.life.Done():
		return ErrClosed
	}
	return nil
}

// endWait leaves the line because the time is up or the client closes. A grant that is there
// by then counts, unless the caller is gone. If a release is just now asking for this waiter,
// it gives the lock back, and for a moment is waited for.
func (c *Client) endWait(limited context.Context, w *waitqueue.Waiter, t *tenure, last answer) (*Hold, error) {
	t.returned = make(chan bool, 1)
	claimed := w.Leave()
	if settled, ok := w.Turn(time.Now()).Result.(answer); ok {
		last = settled
	}
	if last.hold != nil {
		if t.parent.Err() == nil && c.life.Err() == nil {
			return last.hold, nil
		}
		c.background.Go(func() { c.giveBack(t, last) })
	}
	var err error
	switch {
	case !claimed && last.hold == nil:
		err = c.giveUp(limited, t, last)
	case within(grace, t.returned):
		err = c.notAcquired(t.parent, t.point, answer{})
	default:
		err = withCause(fmt.Errorf("redlatch: lock %q: %w: a release was asking for it", t.point.name, ErrUnknownOutcome), t.parent)
	}
	if limited.Err() == nil {
		return nil, fmt.Errorf("redlatch: lock %q: %w", t.point.name, ErrClosed)
	}
	return nil, err
}

// nap is for how long a contender sleeps when nobody wakes it: until the end of the holder's
// ttl, a millisecond later because Redis rounds, or for the poll cap, whichever is first.
func nap(ttl, most time.Duration) time.Duration {
	most -= rand.N(most / 5)
	if ttl < 0 {
		return most
	}
	return min(max(ttl+time.Millisecond, shortNap), most)
}

// shortNap keeps a lock that shows no time left again and again from being asked all the time.
const shortNap = 5 * time.Millisecond

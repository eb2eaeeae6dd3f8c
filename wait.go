package redlatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/wake"
)

// wait stands in the local line until the lock is granted or the wait ends. Only the
// front of the line asks Redis; a release of this process may ask for it.
func (c *Client) wait(limited context.Context, t *tenure, last answer) (*Hold, error) {
	w := c.hub.Join(t.point.channel, t)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	nap := nap{most: c.config.PollCap}
	for {
		turn := w.Turn(time.Now())
		var a answer
		switch {
		case turn.Result != nil:
			a = turn.Result.(answer)
		case turn.Try:
			a = c.try(limited, t)
			if a.err != nil {
				w.Leave(time.Time{})
				return nil, c.giveUp(limited, t, a)
			}
		default:
			if err := c.sleep(limited, w, turn, timer); err != nil {
				return nil, c.endWait(limited, w, t, last)
			}
			continue
		}
		if a.hold != nil {
			w.Leave(time.Now().Add(t.want.lease))
			return a.hold, nil
		}
		if a.err != nil {
			w.Tried(time.Time{}) // the hand-over failed: ask for oneself
			continue
		}
		last = a
		w.Tried(time.Now().Add(nap.after(a.ttl)))
	}
}

// sleep waits for the next thing to do. Only the contender goes by the clock.
func (c *Client) sleep(limited context.Context, w *wake.Waiter, turn wake.Turn, timer *time.Timer) error {
	var alarm <-chan time.Time
	if turn.Front {
		timer.Reset(min(time.Until(turn.At), c.config.PollCap))
		alarm = timer.C
	}
	select {
	case <-w.Rung():
		return nil
	case <-alarm:
		return nil
	case <-limited.Done():
		return limited.Err()
	case <-c.closing:
		return ErrClosed
	}
}

// endWait leaves the line because the time is up or the client closes. If a release
// is just now asking for this waiter, that one gives the lock back.
func (c *Client) endWait(limited context.Context, w *wake.Waiter, t *tenure, last answer) error {
	claimed := w.Leave(time.Time{})
	err := c.notAcquired(t.parent, t.point, last)
	if !claimed {
		err = c.giveUp(limited, t, last)
	}
	if limited.Err() == nil {
		return fmt.Errorf("redlatch: lock %q: %w", t.point.name, ErrClosed)
	}
	return err
}

// nap is how long a contender sleeps when nobody wakes it.
type nap struct {
	most time.Duration
	last time.Duration // the last short nap
}

// after says for how long to sleep when the holder has ttl left: until its end, a
// millisecond later because Redis rounds, or for the poll cap, whichever is first.
// A lock that shows no time left again and again is not asked faster and faster,
// but slower and slower.
func (n *nap) after(ttl time.Duration) time.Duration {
	most := n.most - rand.N(n.most/5)
	switch {
	case ttl < 0:
		return most
	case ttl > 0:
		n.last = 0
		return min(ttl+time.Millisecond, most)
	}
	n.last = min(max(2*n.last, shortNap), most)
	return n.last
}

const shortNap = 2 * time.Millisecond

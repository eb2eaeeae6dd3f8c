package redlatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// watch waits, for a quorum that was refused, until one of the members that refused may have
// changed. It stands in the wait queues of these members, also while it votes, so that it
// misses no message.
type watch struct {
	order
	places []*waitqueue.Waiter // by member, nil where it does not stand
	pause  time.Duration
}

// The pauses before a vote are at random up to the shorter one at first, and up to the longer
// one after several votes that were split.
const (
	splitPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// wait returns when it is time to vote again, and false when limited has ended.
func (w *watch) wait(limited context.Context, g *group) bool {
	until, split := w.stand(g)
	any, cancel := context.WithDeadline(limited, until)
	defer cancel()
	var looks sync.WaitGroup
	for i, place := range w.places {
		if place != nil {
			looks.Go(func() {
				defer cancel()
				w.parts[i].client.look(any, place)
			})
		}
	}
	<-any.Done()
	looks.Wait()
	if split {
		w.pause = min(2*w.pause+splitPause, longestPause)
		rest(limited, rand.N(w.pause+1))
	}
	return limited.Err() == nil
}

// stand joins the queues of the members that refused, and leaves the others. In those where it
// stood while it voted, it goes behind the others. Until is when to vote again whatever happens.
// Split says that some members were granted or that nobody is known to hold one, so that others
// may have voted at the same time.
func (w *watch) stand(g *group) (until time.Time, split bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	until, idle := now.Add(time.Hour), true
	for i, s := range g.seats {
		c, place := w.parts[i].client, w.places[i]
		var seen refusal
		refused := errors.As(s.why, &seen) && seen.answer.holder != ""
		switch {
		case refused && place == nil:
			w.places[i] = c.hub.Join(w.parts[i].point.queue, nil)
		case refused:
			place.Requeue(now.Add(nap(seen.answer.ttl, c.config.PollCap)))
		case place != nil:
			place.Leave()
			w.places[i] = nil
		}
		if again := now.Add(min(s.young, c.config.PollCap)); s.young > 0 && again.Before(until) {
			until = again
		}
		split = split || s.hold != nil
		idle = idle && !refused && s.young == 0
	}
	if idle {
		until, split = now, true
	}
	return until, split
}

// look waits in a queue until the lock may have changed.
func (c *Client) look(ctx context.Context, place *waitqueue.Waiter) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		turn := place.Turn(time.Now())
		if turn.Try || c.sleep(ctx, place, turn, timer) != nil {
			return
		}
	}
}

// leave leaves the queues. Those behind need not look at once for that.
func (w *watch) leave() {
	for i, place := range w.places {
		if place != nil {
			place.Requeue(time.Now().Add(nap(w.wants[i].lease, w.parts[i].client.config.PollCap)))
			place.Leave()
		}
	}
}

package redlatch

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/wake"
)

// watch waits, for a quorum that was refused, until one of the members that refused may have
// changed. It stands in the wait queues of these members, also while it votes, so that it
// misses no message.
type watch struct {
	order
	places []*wake.Waiter // by member, nil where it does not stand
	tried  []bool         // the vote was an attempt of that waiter
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
	any, cancel := context.WithCancel(limited)
	defer cancel()
	if !until.IsZero() {
		defer time.AfterFunc(time.Until(until), cancel).Stop()
	}
	var looks sync.WaitGroup
	for i, place := range w.places {
		if place != nil {
			looks.Go(func() {
				defer cancel()
				w.tried[i] = w.parts[i].client.look(any, place)
			})
		}
	}
	<-any.Done()
	looks.Wait()
	if split {
		w.pause = min(2*w.pause+splitPause, longestPause)
		timer := time.NewTimer(rand.N(w.pause))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-limited.Done():
		}
	}
	return limited.Err() == nil
}

// stand joins the queues of the members that refused, and leaves the others. Until is when to
// vote again whatever happens, zero for never. Split says that some members were granted or
// that nobody is known to hold one, so that others may have voted at the same time.
func (w *watch) stand(g *group) (until time.Time, split bool) {
	if w.places == nil {
		w.places, w.tried = make([]*wake.Waiter, len(w.parts)), make([]bool, len(w.parts))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, watched := time.Now(), false
	for i, s := range g.seats {
		c := w.parts[i].client
		a, refused := heldElsewhere(s.why)
		split = split || s.hold != nil
		switch {
		case !refused && w.places[i] != nil:
			w.places[i].Leave()
			w.places[i] = nil
		case refused && w.places[i] == nil:
			w.places[i] = c.hub.Join(w.parts[i].point.queue, nil)
		case refused && w.tried[i]:
			w.places[i].Requeue(now.Add(nap(a.ttl, c.config.PollCap)))
		}
		w.tried[i] = false
		watched = watched || refused
		if again := now.Add(min(s.young, c.config.PollCap)); s.young > 0 && (until.IsZero() || again.Before(until)) {
			until = again
		}
	}
	if !watched && until.IsZero() {
		until, split = now, true
	}
	return until, split
}

// look waits in a queue, and reports true when the lock may have changed.
func (c *Client) look(ctx context.Context, place *wake.Waiter) bool {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		turn := place.Turn(time.Now())
		if turn.Try {
			return true
		}
		if c.sleep(ctx, place, turn, timer) != nil {
			return false
		}
	}
}

// pass leaves the queues after a vote that was won: those behind need not look at once.
func (w *watch) pass() {
	for i, place := range w.places {
		if place != nil {
			place.Requeue(time.Now().Add(nap(w.wants[i].lease, w.parts[i].client.config.PollCap)))
		}
	}
}

// leave leaves the queues.
func (w *watch) leave() {
	for _, place := range w.places {
		if place != nil {
			place.Leave()
		}
	}
}

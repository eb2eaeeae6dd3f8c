package multilock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// lookout waits, for a quorum that was refused, until one of the members that refused may have
// changed. It stands in the wait queues of these members, also while it votes, so that it misses
// no message.
type lookout struct {
	order
	waiters []*waitqueue.Waiter // by member, nil where it does not stand
	backoff pause.Backoff       // after votes that were split
	voted   time.Time           // when the last vote began
}

// After votes that were split, the pause before the next is at random up to some ms at first, and up
// to the longest one after several.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// newLookout returns one that stands nowhere yet.
func newLookout(o order) *lookout {
	return &lookout{order: o, waiters: make([]*waitqueue.Waiter, len(o.Members)),
		backoff: pause.Backoff{First: firstPause, Max: longestPause}, voted: time.Now()}
}

// wait returns when it is time to vote again, and false when limited has ended.
func (l *lookout) wait(limited context.Context, g *group) bool {
	until, split := l.join(limited, g)
	any, cancel := context.WithDeadline(limited, until)
	defer cancel()
	var looks sync.WaitGroup
	for _, w := range l.waiters {
		if w != nil {
			looks.Go(func() {
				defer cancel()
				_, _ = w.Wait(any, func(waitqueue.Step) (bool, error) { return true, nil })
			})
		}
	}
	<-any.Done()
	looks.Wait()
	if split {
		_ = pause.For(limited, l.apart(limited)) // the first to vote again has its way
	}
	l.voted = time.Now()
	return limited.Err() == nil
}

// apart is a pause at random. It leaves most of the time that the wait has left for one more vote. Several waits may end
// at the same time, so a pause that is cut is at random as well.
func (l *lookout) apart(limited context.Context) time.Duration {
	d := random.Below(l.backoff.Next() + 1)
	end, ends := limited.Deadline()
	if left := time.Until(end); ends && left > 0 {
		d = min(d, pause.Jittered(left/4))
	}
	return d
}

// join joins the queues of the members that refused, and leaves those of members that did not. A member
// whose answer the vote did not wait for counts as before. In the queues where it stood while it voted,
// it goes behind the others. Until is when to vote again whatever happens.
// Split says that some members were granted or that nobody is known to hold one, so that others
// may have voted at the same time.
func (l *lookout) join(limited context.Context, g *group) (until time.Time, split bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	took := now.Sub(l.voted)
	if split = slices.ContainsFunc(g.entries, entry.wasGranted); split {
		took = took * 4 / 3 // apart uses a quarter of the time that is kept for the last vote
	}
	until, idle := now.Add(time.Hour), true
	for i, e := range g.entries {
		m, w := l.Members[i], l.waiters[i]
		refused := e.refusal() != nil
		unanswered := e.state == asked || e.late
		switch {
		case refused && w == nil:
			l.waiters[i] = m.Ref.Watch(l.each[i].Backoff)
			l.waiters[i].Limit(limited, took)
		case refused:
			// A nanosecond apart: at one moment, chance would decide how many of them ask.
			w.Requeue(e.nextLook(m).Add(time.Duration(i)), took)
		case w != nil && unanswered: // to join anew would be to vote at once
			w.Requeue(now.Add(lock.Nap(-1, m.Locks.PollCap)+time.Duration(i)), took)
		case w != nil:
			w.Leave()
			l.waiters[i] = nil
		}
		if again := now.Add(min(e.quarantine, m.Locks.PollCap)); e.quarantine > 0 && again.Before(until) {
			until = again
		}
		idle = idle && !refused && e.quarantine == 0
	}
	if idle {
		until, split = now, true
	}
	return until, split
}

// leave leaves the queues. Those behind it need not look at once. They look when the lookout would have.
func (l *lookout) leave(won bool) {
	for i, w := range l.waiters {
		if w != nil {
			if won {
				w.Won()
			}
			w.StepAside(time.Now().Add(lock.Nap(l.each[i].Lease, l.Members[i].Locks.PollCap) + time.Duration(i)))
			w.Leave()
		}
	}
}

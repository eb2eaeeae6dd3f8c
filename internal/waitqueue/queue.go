package waitqueue

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/signal"
)

// queue is the local waiters for one lock. The hub's mutex guards it.
type queue struct {
	key        string
	channel    *channel
	waiters    []*Waiter // [0] is the contender
	subscribed bool      // the contender was woken after the channel was subscribed

	holding int  // waiters that hold the lock, or for which a release asks
	ignored bool // a message came while holding was above zero
	others  int  // subscribers of other processes that the last release reached
	streak  int  // local hand-overs in a row
}

// maxStreak is how often the lock is handed over within this process before it is offered to
// other processes.
const maxStreak = 16

// offerTime is how long the contender waits at most for the reply to a release that offers the
// lock to other processes.
const offerTime = 100 * time.Millisecond

// offerDue says that it is time to offer the lock to other processes, and that some listen.
func (q *queue) offerDue() bool { return q.others > 0 && q.streak >= maxStreak }

// onSubscribed notes that the queue's channel is subscribed. Messages before that are lost.
func (q *queue) onSubscribed() {
	q.subscribed = true
	q.onMessage()
}

// onMessage notes a message, which is of no use to a process that holds the lock.
func (q *queue) onMessage() {
	if q.holding > 0 {
		q.ignored = true
		return
	}
	q.wake()
}

// wake makes the contender try now.
func (q *queue) wake() {
	q.ignored = false
	w := q.front()
	if w == nil || w.yielding {
		return
	}
	w.tryAt = time.Time{}
	signal.Send(w.woken)
}

// front returns the contender, or nil.
func (q *queue) front() *Waiter {
	if len(q.waiters) == 0 {
		return nil
	}
	return q.waiters[0]
}

// remove takes w out. If w was the contender, the next one is from now on. It need not try
// before until.
func (q *queue) remove(w *Waiter, until time.Time) {
	if i := slices.Index(q.waiters, w); i > 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		return
	}
	q.waiters[0] = nil
	q.waiters = q.waiters[1:]
	if next := q.front(); next != nil {
		next.tryAt = until
		signal.Send(next.woken)
	}
}

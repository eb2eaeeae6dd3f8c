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
	shared     bool      // a holder does not keep others out (Hub.JoinShared)
	places     bool      // several can hold, each by a request of its own (Hub.JoinPlaces)
	grows      bool      // a request may serve a part of its batch
	batch      int       // if it grows: for how many others the contender asks; 0: nothing is known to be free
	refusals   int       // of requests of contenders that poll, since the last grant
	missed     bool      // a reason to ask came while somebody else asked for all waiters
	subscribed bool      // the contender was woken after the channel was subscribed

	holding int  // waiters that hold the lock, or for which a release asks
	ignored bool // a message came while holding was above zero

	offers  offers
	counted bool      // the release under way counts in offers
	used    time.Time // when the lock was last released, or its last waiter left
}

// unused says that a queue is of no use any more: nobody waits here, and nobody elsewhere is to be
// offered the lock.
func (q *queue) unused(now time.Time) bool {
	return len(q.waiters) == 0 && (!q.offers.wanted() || now.Sub(q.used) >= max(linger, q.offers.longestPollRest()))
}

// granted notes that this process holds the lock, which ends an offer, and has the pauses of those who poll begin anew.
func (q *queue) granted() {
	q.refusals = 0
	if q.offers.open {
		q.offers.granted(time.Now())
	}
}

// freed notes how many subscribers a release has reached, and how long it took.
func (q *queue) freed(told int, took time.Duration) {
	q.offers.trip = took
	ch := q.channel
	if ch.state == subscribed {
		told-- // one of them is this process
		if told < 0 {
			ch.noEcho()
		}
	}
	q.offers.listened(max(told, 0))
}

// offer offers the lock to other processes: the waiters of this one hold back until the release
// is answered, and then for as long as answered says.
func (q *queue) offer(now time.Time) {
	q.offers.begin(now, q.channel.state == subscribed)
	q.wake()
}

// onSubscribed notes that the queue's channel is subscribed. Messages before that are lost.
func (q *queue) onSubscribed() {
	q.subscribed = true
	q.onMessage(false)
}

// onMessage notes a message, which is of no use to a process that holds the lock. If it is
// foreign, another process released the lock.
func (q *queue) onMessage(foreign bool) {
	if q.holding > 0 {
		q.ignored = true
		return
	}
	if foreign {
		q.offers.heard(time.Now())
	}
	q.wake()
}

// wake makes the contender try now, or as soon as it need not hold back any more.
func (q *queue) wake() {
	q.ignored = false
	w := q.front()
	if w == nil {
		q.missed = len(q.waiters) > 0
		return
	}
	w.tryAt = time.Time{}
	signal.Send(w.woken)
}

// front returns the contender, or nil. If there are several places, those that somebody else asks for are none.
func (q *queue) front() *Waiter {
	for _, w := range q.waiters {
		if !q.places || !w.told {
			return w
		}
	}
	return nil
}

// claimable returns the waiter to hand the lock over to, or nil. That is the contender, unless it is about to be told
// already. If there are several places, it is the first one that nobody asks for. A contender that has free places to ask
// for does so by itself.
func (q *queue) claimable() *Waiter {
	most := 1
	switch {
	case q.places:
		most = maxClaimed
	case q.shared: // what a release puts back may be for several, or for none
		return nil
	}
	front := q.front()
	for _, w := range q.waiters[:min(most, len(q.waiters))] {
		if !w.trying && !w.claimed && w.result == nil && w.Value != nil && (q.batch == 0 || w != front) {
			return w
		}
	}
	return nil
}

// maxClaimed bounds how far a release looks for a waiter that nobody asks for.
const maxClaimed = 1024

// remove takes w out. If w was the contender, the next one is from now on. It need not try
// before until.
func (q *queue) remove(w *Waiter, until time.Time) {
	contends := q.front() == w
	if i := slices.Index(q.waiters, w); i > 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
	} else {
		q.waiters[0] = nil
		q.waiters = q.waiters[1:]
	}
	if next := q.front(); next != nil && contends {
		next.tryAt = until
		signal.Send(next.woken)
	}
}

package waitqueue

import (
	"slices"
	"time"
)

// channel is where the releases of one lock, or of several, are announced. The hub's mutex
// guards it.
type channel struct {
	name    string
	queues  []*queue // never empty; exactly one if nobody waits
	state   subscription
	emptied time.Time // when the last waiter of a queue left

	refusals int       // refused subscriptions in a row
	retryAt  time.Time // when to ask again after a refusal
}

// subscription is the state of a channel's subscription.
type subscription int

const (
	unwanted   subscription = iota
	wanted                  // to be asked for
	asked                   // asked for, not acknowledged
	subscribed              // acknowledged
	refused                 // by the server, for example by an ACL without the channel
)

// hasWaiters says that somebody waits.
func (ch *channel) hasWaiters() bool {
	return slices.ContainsFunc(ch.queues, func(q *queue) bool { return len(q.waiters) > 0 })
}

// refuse notes that the server refused the subscription. The loop asks again, with growing
// pauses: an operator may mend the ACL.
func (ch *channel) refuse(now time.Time) {
	ch.state = refused
	ch.retryAt = now.Add(min(time.Second<<min(ch.refusals, 10), maxRefusedPause))
	ch.refusals++
}

const maxRefusedPause = 30 * time.Second

// remove takes out a queue, and reports whether it was the last one.
func (ch *channel) remove(q *queue) (last bool) {
	ch.queues = slices.DeleteFunc(ch.queues, func(other *queue) bool { return other == q })
	return len(ch.queues) == 0
}

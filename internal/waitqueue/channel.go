package waitqueue

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// channel is where the releases of one lock, or of several, are announced. The hub's mutex
// guards it.
type channel struct {
	name    string
	queues  []*queue // never empty
	state   subscription
	emptied time.Time // when the last waiter of a queue left

	echoes   int       // messages of this process's releases that are still to come
	released time.Time // when the last of them was sent

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

// expectEcho notes that a release is about to be sent.
func (ch *channel) expectEcho(now time.Time) {
	if now.Sub(ch.released) > echoTime {
		ch.echoes = 0
	}
	if ch.released = now; ch.state == subscribed {
		ch.echoes++
	}
}

// echoTime is how late a message may be. One that has not come by then is lost.
const echoTime = 100 * time.Millisecond

// isEcho takes a message for that of a release of this process, if one is still to come.
func (ch *channel) isEcho(now time.Time) bool {
	if ch.echoes == 0 || now.Sub(ch.released) > echoTime {
		return false
	}
	ch.echoes--
	return true
}

// noEcho notes that a release of this process was not announced. If its echo has come all the same, that
// was the message of another process, which counts for those who do not listen to echoes.
func (ch *channel) noEcho() {
	if ch.echoes > 0 {
		ch.echoes--
		return
	}
	for _, q := range ch.queues {
		if q.shared {
			q.onMessage(true)
		}
	}
}

// refuse notes that the server refused the subscription. The loop asks again, with growing
// pauses: an operator may mend the ACL.
func (ch *channel) refuse(now time.Time) {
	ch.state = refused
	ch.retryAt = now.Add(refusedPauses.After(ch.refusals))
	ch.refusals++
}

// refusedPauses are between requests for a channel that the server refuses.
var refusedPauses = pause.Backoff{First: time.Second, Max: 30 * time.Second}

// remove takes out a queue, and reports whether it was the last one.
func (ch *channel) remove(q *queue) (last bool) {
	ch.queues = slices.DeleteFunc(ch.queues, func(other *queue) bool { return other == q })
	return len(ch.queues) == 0
}

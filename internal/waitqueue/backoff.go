package waitqueue

import (
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// Backoff says how a waiter polls: it asks again and again, and subscribes to nothing. The zero
// value waits for messages.
type Backoff struct {
	First time.Duration // the longest pause after the first refusal
	Max   time.Duration // the longest pause
}

// Polls says that it is not the zero value.
func (b Backoff) Polls() bool { return b.Max > 0 }

// pause is the pause after so many refusals before the last one.
func (b Backoff) pause(refusals int) time.Duration {
	return pause.Backoff{First: b.First, Max: b.Max}.After(refusals)
}

// nextPoll is when a waiter that polls asks, as the contender, after a refusal. A pause that would end too late
// is cut, so that the last answer comes before the end of the wait. Whoever has just asked then has cut it
// already.
func (w *Waiter) nextPoll(now time.Time) time.Time {
	at := now.Add(w.Backoff.pause(w.queue.refusals))
	if last, limited := w.lastPoll(); limited && at.After(last) && last.Sub(now) >= leastPause {
		return last
	}
	return at
}

// leastPause is between two requests of a waiter, however short the pauses are.
const leastPause = time.Millisecond

// lastPoll is the last moment to ask in time, if the wait has an end: the answer may take twice as
// long as the last one.
func (w *Waiter) lastPoll() (at time.Time, limited bool) {
	return w.Deadline.Add(-2*w.took - time.Millisecond), !w.Deadline.IsZero()
}

// heldBack is until when the contender holds back for other processes. Whoever polls does not hold
// back beyond its last chance. If those who polled have left, nobody holds back for others that poll.
func (w *Waiter) heldBack() time.Time {
	until := w.queue.offers.until
	if w.queue.offers.polled && !w.Backoff.Polls() {
		return time.Time{}
	}
	if last, limited := w.lastPoll(); limited && w.Backoff.Polls() && last.Before(until) {
		return last
	}
	return until
}

package waitqueue

import (
	"slices"
	"time"
)

// queue is the local waiters for one lock. The hub's mutex guards it.
type queue struct {
	key     string
	channel *channel
	waiters []*Waiter // [0] is the contender
	told    bool      // it has been told that the channel is subscribed

	inside int  // waiters that hold the lock, or for which a release asks
	missed bool // a message was ignored because of them
	others int  // subscribers of other processes that the last release told
	streak int  // local hand-overs in a row
}

// channel is where the releases of a lock are announced, or of several. The hub's mutex guards
// it.
type channel struct {
	name    string
	lines   []*queue // not empty; one of them if nobody waits
	state   subscription
	emptied time.Time // when the last waiter of a line left

	refusals int       // of the server to let us subscribe, since it last did
	retryAt  time.Time // when to ask again
}

// awaited says that somebody waits.
func (ch *channel) awaited() bool {
	return slices.ContainsFunc(ch.lines, func(l *queue) bool { return len(l.waiters) > 0 })
}

// subscription is how far the subscription of a channel is.
type subscription int

const (
	unwanted subscription = iota
	wanted                // to be asked for
	asked                 // asked for, not acknowledged
	listening
	refused // by the server, for example by an ACL without the channel
)

// refuse takes note that the server refused the subscription. It is asked for again,
// more and more seldom: an operator may mend the ACL.
func (ch *channel) refuse(now time.Time) {
	ch.state = refused
	ch.retryAt = now.Add(min(time.Second<<min(ch.refusals, 10), maxRefusedPause))
	ch.refusals++
}

const maxRefusedPause = 30 * time.Second

// maxStreak is how often the lock is handed on within this process before others
// are offered it.
const maxStreak = 16

// offerTime is for how long at most the contender waits for the answer to a release by which
// others were offered the lock.
const offerTime = 100 * time.Millisecond

// offered says that it is time to offer the lock to others, and that there are some.
func (l *queue) offered() bool { return l.others > 0 && l.streak >= maxStreak }

// yield makes the contender hold back, also from messages.
func (w *Waiter) yield(d time.Duration) {
	w.tryAt, w.yielding = time.Now().Add(d), true
	w.signal()
}

// front returns the contender, or nil.
func (l *queue) front() *Waiter {
	if len(l.waiters) == 0 {
		return nil
	}
	return l.waiters[0]
}

// tell takes note that the line's channel is subscribed.
func (l *queue) tell() {
	l.told = true
	l.hear()
}

// hear takes note of a message, which is of no use to a process that holds the lock.
func (l *queue) hear() {
	if l.inside > 0 {
		l.missed = true
		return
	}
	l.poke()
}

// goIn and goOut take note of a waiter that comes to hold the lock, or may have come to it, and
// of the end of that.
func (w *Waiter) goIn() {
	if !w.inside && !w.ended {
		w.inside = true
		w.line.inside++
	}
}

func (w *Waiter) goOut() {
	if w.inside {
		w.inside = false
		w.line.inside--
	}
}

// end takes note that what the waiter held has ended, which may be before the waiter knows that
// it was granted. The hub's mutex is held; a holder that never waited is nil.
func (w *Waiter) end() {
	if w != nil {
		w.ended = true
		w.goOut()
	}
}

// poke makes the contender look at the lock now.
func (l *queue) poke() {
	l.missed = false
	w := l.front()
	if w == nil || w.yielding {
		return
	}
	w.tryAt = time.Time{}
	w.signal()
}

// remove takes w out, and lets the next one be the contender if w was: after a
// grant it need not look before until.
func (l *queue) remove(w *Waiter, until time.Time) {
	if i := slices.Index(l.waiters, w); i > 0 {
		l.waiters = slices.Delete(l.waiters, i, i+1)
		return
	}
	l.waiters[0] = nil
	l.waiters = l.waiters[1:]
	if next := l.front(); next != nil {
		next.tryAt = until
		next.signal()
	}
}

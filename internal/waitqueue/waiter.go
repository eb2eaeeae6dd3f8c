package waitqueue

import "time"

// Waiter is one place in a line. It belongs to one goroutine.
type Waiter struct {
	// Value is what the waiter asks for; whoever claims it reads it. A waiter without one only
	// watches the lock: it is never claimed.
	Value any

	shared bool // it can hold the lock together with its neighbours

	hub  *Hub
	line *queue
	ring chan struct{} // capacity one

	// Guarded by the hub's mutex.
	tryAt    time.Time // not to look before; zero is at once
	yielding bool      // tryAt holds also against messages
	trying   bool      // the waiter's own attempt is under way
	claimed  bool      // somebody else's attempt for it is under way
	inside   bool      // it counts among those inside its line
	ended    bool      // what it held has ended
	left     bool
	result   any // of the last settled claim
}

// Woken delivers a signal when the waiter is to look at its Turn again.
func (w *Waiter) Woken() <-chan struct{} { return w.ring }

func (w *Waiter) signal() {
	select {
	case w.ring <- struct{}{}:
	default:
	}
}

// Turn is what a waiter may do at a moment.
type Turn struct {
	// Try says to make an attempt now. The waiter calls Tried after it.
	Try bool
	// Result is of a claim that was settled since the last Turn; nil if none.
	Result any
	// Front says that the waiter is the contender: it wakes up by itself at At.
	Front bool
	At    time.Time
}

// Turn says what w may do now.
func (w *Waiter) Turn(now time.Time) Turn {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	turn := Turn{Result: w.result}
	w.result = nil
	if turn.Result != nil || w.claimed || w.line.front() != w {
		return turn
	}
	turn.Front, turn.At = true, w.tryAt
	if !w.tryAt.After(now) {
		turn.Try = true
		w.trying, w.yielding = true, false
		// A message that comes from here on asks for another attempt.
		w.tryAt = never
	}
	return turn
}

// never is a moment that does not come.
var never = time.Unix(1<<40, 0)

// Tried ends an attempt that failed: the contender need not look again before
// until, unless it is woken. It makes sure that the channel is subscribed.
func (w *Waiter) Tried(until time.Time) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	w.trying = false
	if until.Before(w.tryAt) {
		w.tryAt = until
	}
	h.subscribe(w.line)
}

// Requeue ends an attempt that failed like Tried, and puts w behind the others of its line. It is
// for a waiter without a bid, which others must not wait for.
func (w *Waiter) Requeue(until time.Time) {
	w.Tried(until)
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := w.line; len(l.waiters) > 1 {
		l.remove(w, w.tryAt)
		l.waiters = append(l.waiters, w)
	}
}

// Enter takes w out of its line because it holds the lock, until Hub.Release or Hub.Look says
// otherwise. The next waiter need not look before until.
func (w *Waiter) Enter(until time.Time) { w.leave(until, true) }

// Leave takes w out of its line because it does not wait any more. It reports whether a
// claim was under way, which Settle will then find abandoned.
func (w *Waiter) Leave() (claimed bool) { return w.leave(time.Time{}, false) }

func (w *Waiter) leave(until time.Time, granted bool) (claimed bool) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.left {
		return false
	}
	w.left = true
	h.waiting--
	l := w.line
	if granted {
		w.goIn()
	}
	if w.tryAt.Before(until) {
		// A message came during the attempt, or the next look was due sooner. What
		// this waiter does not look at any more, the next one has to.
		until = w.tryAt
	}
	l.remove(w, until)
	if len(l.waiters) > 0 {
		h.subscribe(l)
	} else {
		h.emptied(l)
	}
	return w.claimed
}

// WakeAt makes w look at the lock at that moment, if it would only later.
func (w *Waiter) WakeAt(at time.Time) {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.Before(w.tryAt) {
		w.tryAt = at
		w.signal()
	}
}

// Batch claims the waiters right behind w that can hold the lock together with it,
// for an attempt of w or for w. Each of them is settled like any claimed waiter. It is
// nil unless w can share.
func (w *Waiter) Batch() []*Waiter {
	if !w.shared {
		return nil
	}
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.line.front() != w {
		return nil
	}
	var company []*Waiter
	for _, next := range w.line.waiters[1:] {
		if !next.shared || next.Value == nil || next.claimed || next.result != nil || len(company) == maxCompany {
			break
		}
		next.claimed = true
		next.goIn()
		company = append(company, next)
	}
	return company
}

// maxCompany is how many waiters enter with one request.
const maxCompany = 128

// Complete ends a claim with its result, which is not nil, and says whether the lock was
// granted. It reports false if the waiter has left: then whatever was taken for it must be
// given back.
func (w *Waiter) Complete(result any, granted bool) bool {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	l := w.line
	w.claimed = false
	if !granted {
		w.goOut()
	}
	if l.inside == 0 && l.missed {
		l.poke()
	}
	if w.left {
		return false
	}
	if granted && l.front() != w {
		// Those in front of it share too. Where they were refused a moment before, no
		// message will tell them, because it holds the lock now.
		l.poke()
	}
	w.result = result
	w.signal()
	return true
}

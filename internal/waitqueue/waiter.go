package waitqueue

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/signal"
)

// Waiter is one place in a wait queue. It belongs to one goroutine.
type Waiter struct {
	// Value is what the waiter asks for. Whoever claims the waiter reads it. A waiter without
	// a value only watches the lock: nobody claims it.
	Value any

	// Backoff says how the waiter polls. A value sets it in its method Joined, or it is that of
	// the hub. It does not change later.
	Backoff Backoff

	// Deadline is the end of the wait; zero without one. Only a waiter that polls needs it. Limit sets it.
	Deadline time.Time

	hub   *Hub
	queue *queue
	woken chan struct{} // capacity one
	since time.Time

	asked time.Time     // when its last attempt began; zero if it was told a result since
	took  time.Duration // for how long that was under way

	// Guarded by the hub's mutex.
	tryAt   time.Time   // not to try before; zero is at once
	alarm   *time.Timer // wakes the contender; nil if none was needed
	reader  bool        // it can hold the lock together with the readers next to it; never changes
	trying  bool        // the waiter's own attempt is under way, or it has been told a result
	claimed bool        // somebody else's attempt for it is under way
	told    bool        // it was claimed, and does not know of the result yet
	holding bool        // it counts in queue.holding
	ended   bool        // its hold has ended
	left    bool
	result  any // of the last completed claim
}

// Since is when the waiter joined its queue.
func (w *Waiter) Since() time.Time { return w.since }

// Limit notes that the wait ends with ctx, and for how long an attempt was under way that has failed before; 0 without one.
func (w *Waiter) Limit(ctx context.Context, took time.Duration) {
	at, _ := ctx.Deadline()
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.Deadline, w.took = at, took
}

// Wait has look do each Step, and sleeps in between. Over says that look has ended the wait, with its
// error. Otherwise ctx has ended, or the hub is closed. In each case the caller takes w out of the queue.
// A waiter sleeps in this function: what look needs of the stack is not needed then.
func (w *Waiter) Wait(ctx context.Context, look func(Step) (over bool, err error)) (over bool, err error) {
	for !w.hub.closed.Load() {
		if step := w.Next(time.Now()); step.Try || step.Result != nil {
			if over, err := look(step); over {
				return true, err
			}
			continue
		}
		select {
		case <-w.woken:
		case <-ctx.Done():
			return false, nil
		}
	}
	return false, nil
}

// Woken delivers a signal when the waiter is to ask for its next Step. It also does so now and then
// when there is nothing to do.
func (w *Waiter) Woken() <-chan struct{} { return w.woken }

// Step is what a waiter may do at a moment.
type Step struct {
	// Try says to make an attempt now. The waiter calls Tried after it.
	Try bool
	// Again says that the waiter polls, and that it was refused before, or one in front of it.
	Again bool
	// Result is that of a claim that was completed since the last Step; nil if none was. The waiter
	// calls Tried after it as well, or leaves.
	Result any
	// Front says that the waiter is the contender, which is woken at At.
	Front bool
	At    time.Time
}

// Next says what w may do now.
func (w *Waiter) Next(now time.Time) Step {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	q, step := w.queue, Step{Result: w.result}
	w.result = nil
	if step.Result != nil {
		w.trying = true // until it has entered or goes on waiting: nobody asks for it once more
		w.asked = time.Time{}
	}
	if step.Result != nil || w.claimed || q.front() != w {
		return step
	}
	step.Front, step.At = true, w.tryAt
	if until := w.heldBack(); until.After(w.tryAt) {
		step.At = until
	}
	if step.At.After(now) {
		w.wakeAfter(step.At.Sub(now))
	} else {
		step.Try, step.Again = true, w.Backoff.Polls() && q.refusals > 0
		w.trying, w.asked = true, now
		w.tryAt = never // a message from here on asks for another attempt
	}
	return step
}

// never is a moment that does not come.
var never = time.Unix(1<<40, 0)

// Tried ends an attempt that failed. The contender need not try again before until, unless it
// is woken. Tried makes sure that the channel is subscribed. A waiter that polls subscribes to
// nothing. It tries again after its next pause, if that is over before until.
func (w *Waiter) Tried(until time.Time) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.tried(w.poll(until))
}

// Stay is Tried for a waiter that does not have to poll, because others come first.
func (w *Waiter) Stay(until time.Time) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.tried(until)
}

// poll is when the waiter is to try again, at until or before.
func (w *Waiter) poll(until time.Time) time.Time {
	if !w.Backoff.Polls() {
		return until
	}
	now := time.Now()
	if w.trying && !w.asked.IsZero() {
		w.took = now.Sub(w.asked)
	}
	if at := w.nextPoll(now); at.Before(until) {
		until = at
	}
	if w.queue.front() == w {
		w.queue.refusals++
	}
	return until
}

func (w *Waiter) tried(until time.Time) {
	if q := w.queue; w.told && q.missed {
		until, q.missed = time.Time{}, false
	}
	w.trying, w.told = false, false
	if until.Before(w.tryAt) {
		w.tryAt = until
	}
	if w.Value != nil {
		w.queue.offers.refused()
		w.queue.batch = 0
	}
	w.hub.subscribe(w.queue)
}

// Requeue ends a failed attempt like Tried, and puts w at the end of its queue. It is for a
// waiter without a value, for which the others must not have to wait. The attempt took so long. It may have begun for
// another queue.
func (w *Waiter) Requeue(until time.Time, took time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if !w.tryAt.IsZero() { // unless a message has asked for an attempt at once
		w.tryAt = never
	}
	w.asked, w.took = time.Time{}, took
	w.requeue(until)
}

// StepAside is Requeue without an attempt: w keeps the time of its next one if that is before until.
func (w *Waiter) StepAside(until time.Time) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.requeue(until)
}

func (w *Waiter) requeue(until time.Time) {
	q := w.queue
	next := until
	if len(q.waiters) > 1 && q.front() == w && q.waiters[1].Backoff.Polls() {
		if at := q.waiters[1].nextPoll(time.Now()); at.Before(next) {
			next = at
		}
	}
	if w.tried(w.poll(until)); w.tryAt.Before(next) {
		next = w.tryAt
	}
	if len(q.waiters) > 1 {
		q.remove(w, next)
		q.waiters = append(q.waiters, w)
	}
}

// Won notes that the process has what it waited for, though not by this waiter: pauses begin anew.
func (w *Waiter) Won() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.queue.refusals = 0
}

// WakeAt makes w try at that moment, if it would try only later.
func (w *Waiter) WakeAt(at time.Time) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if at.Before(w.tryAt) {
		w.tryAt = at
		signal.Send(w.woken)
	}
}

// Enter takes w out of its queue because it holds the lock, until Hub.Release or Hub.Wake ends
// that. The next waiter need not try before until.
func (w *Waiter) Enter(until time.Time) { w.leave(until, true) }

// Leave takes w out of its queue because it does not wait any more. It reports whether w is
// claimed. Then Complete will report false.
func (w *Waiter) Leave() (claimed bool) { return w.leave(time.Time{}, false) }

func (w *Waiter) leave(until time.Time, granted bool) (claimed bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.left {
		return false
	}
	w.left = true
	w.hub.waiting--
	if w.alarm != nil {
		w.alarm.Stop()
	}
	q := w.queue
	if granted {
		w.startHolding()
		q.granted()
		if q.grows && !w.asked.IsZero() { // by its own request
			q.batch = min(2*q.batch+1, maxBatch)
		}
		if q.places && q.batch > 0 {
			until = time.Time{}
		}
		if at := time.Now().Add(w.Backoff.pause(0)); q.shared && w.Backoff.Polls() && at.Before(until) {
			until = at // another process may free a place meanwhile, and nobody says so
		}
	}
	if w.tryAt.Before(until) {
		// A message came during the attempt, or the next attempt was due sooner. The next
		// waiter takes over what this one does not try any more.
		until = w.tryAt
	}
	q.remove(w, until)
	if len(q.waiters) > 0 {
		w.hub.subscribe(q)
	} else {
		w.hub.emptied(q)
	}
	return w.claimed
}

// wakeAfter wakes w once after d. The hub's mutex is held. A channel of the timer would be one more thing to wait for.
func (w *Waiter) wakeAfter(d time.Duration) {
	if w.alarm == nil {
		w.alarm = time.AfterFunc(d, func() { signal.Send(w.woken) })
	} else {
		w.alarm.Reset(d)
	}
}

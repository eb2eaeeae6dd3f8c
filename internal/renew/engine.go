package renew

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/signal"
)

// Renewal is one lease that is to be extended.
type Renewal struct {
	Item *Item
	Term Term // by which the request goes
}

// Answer is the outcome of one renewal.
type Answer struct {
	Err   error         // there was no answer, and the fields below mean nothing
	Held  bool          // the owner held the lock, and holds it for Lease now
	Asked time.Time     // before the request left
	Lease time.Duration // that was asked for; a repetition asks for the same
}

// Renew extends the leases of a batch and returns an answer for each. An error for one lease
// does not affect the others. It may block; it ends with ctx.
type Renew func(ctx context.Context, batch []Renewal) []Answer

// Engine keeps the leases of its items alive. Make one with Start.
type Engine struct {
	renew Renew
	kick  chan struct{} // capacity one: the loop has something to do
	ctx   context.Context
	stop  context.CancelFunc
	done  sync.WaitGroup // the loop and the groups

	mu      sync.Mutex
	items   byNext
	wakeAt  time.Time // when the loop is to wake, or did; zero: only when it is kicked
	stopped bool
	guard   Guard
	resumed time.Time // when the last pause was noticed during which the guard was alive
	counts  Counts
}

// Counts are totals since the engine was started.
type Counts struct {
	Renewals int64 // leases extended
	Late     int64 // of these, confirmed after half of the lease had gone
	Failures int64 // attempts that ended with an error, per lease
	Rescued  int64 // leases found alive after a pause in which their time ran out
}

const (
	// batchSize is how many leases one request extends. A longer script would block the
	// server, and all other clients, for longer.
	batchSize = 100
	// tick is how often the loop compares the clocks while there are items. A suspension
	// shows in the wall clock.
	tick = time.Second
	// jump is the difference between the clocks that counts as a suspension, or as a clock
	// that was set.
	jump = 100 * time.Millisecond
	// ahead says how early an item may be renewed together with one that is due: by its
	// interval divided by ahead. So many items make few requests.
	ahead = 10
)

// Start returns a running engine that renews by the given function. The guard renews the same
// leases while this process is paused; the zero Guard stands for none.
func Start(renew Renew, guard Guard) *Engine {
	ctx, stop := context.WithCancel(context.Background())
	e := &Engine{renew: renew, guard: guard, kick: make(chan struct{}, 1), ctx: ctx, stop: stop}
	e.done.Go(e.loop)
	return e
}

// Stop ends the engine and waits for its goroutines. Items that are still watched
// are dropped without Lost.
func (e *Engine) Stop() {
	e.mu.Lock()
	e.stopped = true
	for _, it := range e.items {
		it.place = 0
	}
	e.items = nil
	e.mu.Unlock()
	e.stop()
	e.done.Wait()
}

// Counts returns the totals so far.
func (e *Engine) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts
}

// Len is the number of items watched.
func (e *Engine) Len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.items)
}

// Set watches an item from now on, or sets a new plan for it. A term with Asked is also a
// confirmation. A term without Asked leaves the trust as it is. If the term is over already, the
// loop calls Lost. After the watch over an item has ended, Set does nothing, and reports false.
func (e *Engine) Set(it *Item, term Term) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if it.ended {
		return false
	}
	it.confirm(term)
	if e.stopped {
		return true
	}
	if now := time.Now(); !term.Asked.IsZero() && it.Term().Over(now) {
		e.resume(now) // the process was paused before this, or just now
	}
	if it.renewing {
		// A request is under way, and its answer sets the next due time.
		it.next = it.Term().Deadline()
	} else {
		it.next = it.Term().next()
	}
	if it.place == 0 {
		heap.Push(&e.items, it)
	} else {
		heap.Fix(&e.items, it.place-1)
	}
	e.wakeLoop()
	return true
}

// Items returns what is watched now.
func (e *Engine) Items() []*Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.items)
}

// Remove ends the watch over an item and reports whether there was one. No renewal of the item
// starts afterwards. After true, Lost is not called.
func (e *Engine) Remove(it *Item) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.drop(it)
}

func (e *Engine) drop(it *Item) bool {
	if it.place == 0 {
		return false
	}
	heap.Remove(&e.items, it.place-1)
	it.ended = true
	return true
}

// wakeLoop wakes the loop if it would sleep past the first event. The mutex is held.
func (e *Engine) wakeLoop() {
	if len(e.items) == 0 || !e.wakeAt.IsZero() && !e.items[0].next.Before(e.wakeAt) {
		return
	}
	e.wakeAt = time.Now()
	signal.Send(e.kick)
}

// loop waits for the next event and handles it, until the engine stops.
func (e *Engine) loop() {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	seen := time.Now()
	for {
		now := time.Now()
		jumped := now.Round(0).Sub(seen.Round(0))-now.Sub(seen) > jump
		seen = now

		lost, groups := e.collect(now, jumped)
		for _, it := range lost {
			it.Subject.Lost(ErrExpired)
		}
		for _, group := range groups {
			e.done.Go(func() { e.renewGroup(group) })
		}

		var elapsed <-chan time.Time
		if d, ok := e.sleep(); ok {
			timer.Reset(d)
			elapsed = timer.C
		}
		select {
		case <-elapsed:
		case <-e.kick:
		case <-e.ctx.Done():
			return
		}
	}
}

// collect takes the items that are over out of the heap, marks those that are due as renewing,
// and divides these into groups.
func (e *Engine) collect(now time.Time, jumped bool) (lost []*Item, groups [][]*Item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noticePause(now, jumped)
	if jumped {
		// The heap is ordered by the monotonic clock, which did not jump. Events of the skipped
		// time are to happen now.
		for _, it := range e.items {
			if !now.Round(0).Before(it.next.Round(0)) {
				it.next = now
			}
		}
		heap.Init(&e.items)
	}
	// Items that are being renewed, or are never renewed, may stand in the heap before others
	// that could go along. A bounded number of them is skipped.
	var due, skipped []*Item
collecting:
	for len(e.items) > 0 {
		it := e.items[0]
		term := it.Term()
		idle := it.renewing || !term.renewed()
		switch {
		case e.over(term, now):
			e.drop(it)
			lost = append(lost, it)
		case !idle && ripe(it, term, now, len(due) > 0):
			it.renewing = true
			due = append(due, it)
			e.move(it, e.end(term, now))
		case !it.next.After(now):
			// It is unconfirmed and being renewed, or is not to be renewed any more.
			e.move(it, e.end(term, now))
		case idle && len(skipped) < 10*len(due):
			heap.Pop(&e.items)
			skipped = append(skipped, it)
		default:
			break collecting
		}
	}
	for _, it := range skipped {
		heap.Push(&e.items, it)
	}
	return lost, intoGroups(due, now)
}

// move sets the moment of an item's next event. The mutex is held.
func (e *Engine) move(it *Item, next time.Time) {
	it.next = next
	heap.Fix(&e.items, it.place-1)
}

// ripe says whether an item is to be renewed now: it is due, or it is nearly due and others are
// renewed anyway.
func ripe(it *Item, term Term, now time.Time, others bool) bool {
	if others {
		now = now.Add(term.Every / ahead)
	}
	return !it.next.After(now)
}

// sleep says for how long the loop may sleep. It returns false if the loop has nothing to do
// until it is kicked.
func (e *Engine) sleep() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.items) == 0 {
		e.wakeAt = time.Time{}
		return 0, false
	}
	now := time.Now()
	e.noticePause(now, false) // a pause within this round
	d := min(max(e.items[0].next.Sub(now), 0), e.tick())
	e.wakeAt = now.Add(d)
	return d, true
}

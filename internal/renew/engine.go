package renew

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

// Renewal is one lease that is to be extended.
type Renewal struct {
	Item *Item
	Term Term // by which the request goes
}

// Answer is what became of one renewal.
type Answer struct {
	Err   error     // there was no answer, and nothing below means anything
	Held  bool      // the owner held it, and holds it for the whole span now
	Asked time.Time // before the request left
}

// Renew extends the leases of a batch and returns an answer for each. One that cannot be had
// costs the others nothing. It may block; it ends with ctx.
type Renew func(ctx context.Context, batch []Renewal) []Answer

// Engine keeps the leases of its items alive. Make one with Start.
type Engine struct {
	renew Renew
	kick  chan struct{} // capacity one: the loop is to look again
	ctx   context.Context
	stop  context.CancelFunc
	done  sync.WaitGroup // the loop and the flights

	mu      sync.Mutex
	items   byNext
	wakeAt  time.Time // when the loop is to wake, or did; zero: only when it is kicked
	stopped bool
	guard   Guard
	resumed time.Time // when the last pause was noticed, for which the guard stands in
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
	// batchSize is how many leases one request extends. Longer scripts would
	// keep the server, and everybody behind them, waiting for longer.
	batchSize = 100
	// tick is how often the loop compares the clocks while there are items: a
	// machine that was suspended notices by the wall clock.
	tick = time.Second
	// jump is a difference between the clocks that means a suspension or a clock
	// that was set.
	jump = 100 * time.Millisecond
	// ahead is how early, as a fraction of its interval, an item may be renewed
	// together with one that is due, so that many items make few requests.
	ahead = 10
)

// StartGuarded returns a running engine that renews by the given function, for items that
// somebody else renews while this process is paused.
func StartGuarded(renew Renew, guard Guard) *Engine {
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

// Set watches it from now on, or goes on watching it, by a new plan. A term with a moment
// Asked was confirmed as well; one without changes nothing about the trust. The subject of an
// item that is over already is told so by the loop. After a watch has ended Set does nothing.
func (e *Engine) Set(it *Item, term Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if it.ended {
		return
	}
	it.confirm(term)
	if e.stopped {
		return
	}
	if now := time.Now(); !term.Asked.IsZero() && it.Term().Over(now) {
		e.paused(now) // before it was granted, or just now
	}
	if it.flying {
		// The flight left before this and will be told what it finds.
		it.next = it.Term().Deadline()
	} else {
		it.next = it.Term().next()
	}
	if it.place == 0 {
		heap.Push(&e.items, it)
	} else {
		heap.Fix(&e.items, it.place-1)
	}
	e.rouse()
}

// Items returns what is watched now.
func (e *Engine) Items() []*Item {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.items)
}

// Remove ends the watch over it and reports whether there was one. No renewal of
// it starts afterwards; Lost is not called after a true.
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

// rouse wakes the loop if it would sleep past the first event. The mutex is held.
func (e *Engine) rouse() {
	if len(e.items) == 0 || !e.wakeAt.IsZero() && !e.items[0].next.Before(e.wakeAt) {
		return
	}
	e.wakeAt = time.Now()
	select {
	case e.kick <- struct{}{}:
	default:
	}
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

		lost, flights := e.sweep(now, jumped)
		for _, it := range lost {
			it.Subject.Lost(ErrExpired)
		}
		for _, flight := range flights {
			e.done.Go(func() { e.fly(flight) })
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

// sweep takes the items that are over out of the heap, marks those that are due as flying, and
// divides them into flights.
func (e *Engine) sweep(now time.Time, jumped bool) (lost []*Item, flights [][]*Item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.look(now, jumped)
	if jumped {
		// The heap is ordered by the monotonic clock, which knows nothing of it. What was to
		// happen while the machine slept is to happen now.
		for _, it := range e.items {
			if !now.Round(0).Before(it.next.Round(0)) {
				it.next = now
			}
		}
		heap.Init(&e.items)
	}
	// What flies or is not renewed may stand in the heap before others that could go
	// along; a bounded number of these is passed over.
	var due, aside []*Item
sweeping:
	for len(e.items) > 0 {
		it := e.items[0]
		term := it.Term()
		idle := it.flying || !term.renewed()
		switch {
		case e.over(term, now):
			e.drop(it)
			lost = append(lost, it)
		case !idle && ripe(it, term, now, len(due) > 0):
			it.flying = true
			due = append(due, it)
			e.move(it, e.end(term, now))
		case !it.next.After(now):
			e.move(it, e.end(term, now)) // it is doubtful and flies, or is not to be renewed any more
		case idle && len(aside) < 10*len(due):
			heap.Pop(&e.items)
			aside = append(aside, it)
		default:
			break sweeping
		}
	}
	for _, it := range aside {
		heap.Push(&e.items, it)
	}
	return lost, divide(due, now)
}

// move sets the moment of an item's next event. The mutex is held.
func (e *Engine) move(it *Item, next time.Time) {
	it.next = next
	heap.Fix(&e.items, it.place-1)
}

// ripe says whether an item is to be renewed now: it is due, or nearly so and
// others fly anyway.
func ripe(it *Item, term Term, now time.Time, company bool) bool {
	if company {
		now = now.Add(term.Every / ahead)
	}
	return !it.next.After(now)
}

// sleep says for how long the loop may sleep, and false if until it is kicked.
func (e *Engine) sleep() (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.items) == 0 {
		e.wakeAt = time.Time{}
		return 0, false
	}
	now := time.Now()
	e.look(now, false) // a pause within this round
	d := min(max(e.items[0].next.Sub(now), 0), e.tick())
	e.wakeAt = now.Add(d)
	return d, true
}

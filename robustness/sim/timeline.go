package sim

import (
	"cmp"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// timeline is the one source of events. It lets one of them happen at a time, and lets every
// goroutine come to rest in between. No two events have the same instant.
//
// What the library does by itself, at its own timers, reaches the timeline as postings. Those of
// one instant are sorted by what they say, so it does not matter which goroutine came first.
type timeline struct {
	began  time.Time
	sum    hash.Hash64 // of the lines
	lines  []string    // of the trace: what happened
	events []event     // that are to come, by their instants
	count  int         // of events and postings so far

	arrived chan struct{} // capacity one: there are postings
	mu      sync.Mutex
	posted  []posting
}

// event is something that happens at an instant.
type event struct {
	at   time.Time
	what string
	do   func()
}

// posting is something that a goroutine of the library, or of an actor, wants to have done.
type posting struct {
	what string
	take func()
}

func newTimeline() *timeline {
	return &timeline{began: time.Now(), sum: fnv.New64a(), arrived: make(chan struct{}, 1)}
}

// after makes something happen when some time has passed. Only the goroutine of the timeline may
// call it.
func (t *timeline) after(d time.Duration, what string, do func()) {
	t.at(time.Now().Add(d), what, do)
}

// at makes something happen at an instant, or at the first free one after it.
func (t *timeline) at(at time.Time, what string, do func()) {
	if now := time.Now(); !at.After(now) {
		at = now.Add(1)
	}
	i, _ := slices.BinarySearchFunc(t.events, at, func(e event, at time.Time) int { return e.at.Compare(at) })
	for ; i < len(t.events) && t.events[i].at.Equal(at); i++ {
		at = at.Add(1)
	}
	t.events = slices.Insert(t.events, i, event{at, what, do})
}

// post asks for something to be done in this instant. Any goroutine may call it.
func (t *timeline) post(what string, take func()) {
	t.mu.Lock()
	t.posted = append(t.posted, posting{what, take})
	t.mu.Unlock()
	select {
	case t.arrived <- struct{}{}:
	default:
	}
}

// run lets events happen until over says that it is enough. Settled is called whenever every
// goroutine is at rest, and all postings are taken in.
func (t *timeline) run(over func() bool, settled func()) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		synctest.Wait()
		if t.takeIn() {
			continue
		}
		if settled(); over() {
			return
		}
		if len(t.events) == 0 { // everything depends on a timer of the library
			t.after(time.Minute, "", func() {})
		}
		next := t.events[0]
		if wait := time.Until(next.at); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-t.arrived:
			}
			continue
		}
		t.events = t.events[1:]
		t.note(next.what)
		next.do()
	}
}

// takeIn takes in the postings so far, and reports whether there were any.
func (t *timeline) takeIn() bool {
	t.mu.Lock()
	posted := t.posted
	t.posted = nil
	t.mu.Unlock()
	slices.SortStableFunc(posted, func(a, b posting) int { return cmp.Compare(a.what, b.what) })
	for _, p := range posted {
		t.note(p.what)
		p.take()
		synctest.Wait()
	}
	return len(posted) > 0
}

// note adds a line to the trace. An empty one is not worth it.
func (t *timeline) note(what string) {
	if what != "" {
		t.count++
		line := fmt.Sprintf("%16.9f  %s", time.Since(t.began).Seconds(), what)
		_, _ = io.WriteString(t.sum, line)
		t.lines = append(t.lines, line)
	}
}

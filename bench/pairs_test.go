package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hangs is a contestant whose first opening never grants a lock, and ends that when
// it is closed, as a real one does.
type hangs struct {
	closed chan struct{}
	stuck  bool
}

func (h *hangs) Worker(string) worker         { return h }
func (h *hangs) Unlock(context.Context) error { return nil }
func (h *hangs) Close()                       { close(h.closed) }

func (h *hangs) Lock(context.Context) error {
	if h.stuck {
		<-h.closed
		return errors.New("closed")
	}
	return nil
}

// Goal: a rival that hangs costs the benchmark a slice and not the run. Method: both
// workers hang in the first opening, and in the second one nobody does.
func TestStuckSliceIsCountedAndRepeated(t *testing.T) {
	b := &bench{}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var opened atomic.Int64
	rival := entrant{name: "rival", open: func(context.Context, string, *wire) (contestant, error) {
		return &hangs{closed: make(chan struct{}), stuck: opened.Add(1) == 1}, nil
	}}
	tr := b.subject(rival, 2)
	defer tr.close()
	table := pairTable{goroutines: 2, stuck: map[string]int{}}
	run, err := table.run(t.Context(), b, tr, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if run.pairs == 0 {
		t.Error("the repeated slice has no pairs")
	}
	if got := table.stuck["rival"]; got != 2 {
		t.Errorf("%d acquisitions were counted as stuck, want 2", got)
	}
	if got := opened.Load(); got != 2 {
		t.Errorf("opened %d times, want 2", got)
	}
}

// takesTime is a worker whose every pair lasts for a while.
type takesTime time.Duration

func (d takesTime) Unlock(context.Context) error { return nil }

func (d takesTime) Lock(context.Context) error {
	time.Sleep(time.Duration(d))
	return nil
}

// Goal: the rate counts pairs that are finished inside the slice; the costs are shared by all.
// Method: a pair lasts for 10 ms. Two are finished in the warm-up of 25 ms, ten in the slice of
// 100 ms, and one after it.
func TestRateCountsInsideTheSlice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &track{workers: []worker{takesTime(10 * time.Millisecond), takesTime(10 * time.Millisecond)}}
		var run pairRun
		if stuck, err := tr.race(100*time.Millisecond, &run); stuck != 0 || err != nil {
			t.Fatal(stuck, err)
		}
		if run.inside != 2*10 || run.pairs != 2*13 {
			t.Errorf("%d pairs inside and %d in all, want 20 and 26", run.inside, run.pairs)
		}
		if got := run.perSecond(); got != 200 {
			t.Errorf("%v pairs a second, want 200", got)
		}
		if got := run.micros(); got != 5000 {
			t.Errorf("%v µs a pair, want 5000", got)
		}
	})
}

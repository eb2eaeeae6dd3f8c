package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// takesTime is a worker whose every pair lasts for a while.
func takesTime(d time.Duration) worker {
	return worker{
		lock:   func(context.Context) error { time.Sleep(d); return nil },
		unlock: func(context.Context) error { return nil },
	}
}

// at once is what a helper is told when nobody waits for it.
func atOnce() (time.Time, error) { return time.Now(), nil }

// Goal: the rate counts pairs that are finished inside the slice; the costs are shared by all.
// Method: a pair lasts for 10 ms. Two are finished in the warm-up of 25 ms, ten in the slice of
// 100 ms, and one after it.
func TestRateCountsInsideTheSlice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := &track{wire: new(wire), workers: []worker{takesTime(10 * time.Millisecond), takesTime(10 * time.Millisecond)}}
		s, err := tr.race(order{WarmUp: 25 * time.Millisecond, For: 100 * time.Millisecond}, atOnce)
		if s.Stuck != 0 || err != nil {
			t.Fatal(s, err)
		}
		if s.Inside != 2*10 || s.Pairs != 2*13 {
			t.Errorf("%d pairs inside and %d in all, want 20 and 26", s.Inside, s.Pairs)
		}
		f := s.figures(figures{}, contestant{})
		if f[figureRate] != 200 || f[figureTime] != 5000 {
			t.Errorf("%v pairs a second and %v µs a pair, want 200 and 5000", f[figureRate], f[figureTime])
		}
	})
}

// Goal: a contestant that hangs costs the benchmark a slice and not the run. Method: a worker waits
// until its client is closed, and another one never hangs.
func TestStuckSliceIsCountedAndEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		hangs := worker{
			lock:   func(context.Context) error { <-closed; return errors.New("closed") },
			unlock: func(context.Context) error { return nil },
		}
		tr := &track{
			name: "open", wire: new(wire), clients: []client{{close: func() { close(closed) }}},
			workers: []worker{hangs, takesTime(time.Millisecond)},
		}
		s, err := tr.race(order{For: 10 * time.Millisecond}, atOnce)
		if s.Stuck != 1 || err != nil {
			t.Errorf("%d stuck, %v; want 1", s.Stuck, err)
		}
		if tr.name != "" {
			t.Error("it is still open: the next slice would hang too")
		}
	})
}

// Goal: each worker has a lock of its own, unless all are to share one, and a slice of other names is
// on a new client.
func TestWorkersShareALockOnlyIfTheyAreTo(t *testing.T) {
	for _, locks := range []int{8, 1} {
		names, opened := map[string]bool{}, 0
		rival := func(context.Context, string, *wire) (client, error) {
			opened++
			return client{close: func() {}, worker: func(name string) (worker, error) {
				names[name] = true
				return takesTime(0), nil
			}}, nil
		}
		tr := &track{}
		for _, name := range []string{"a", "a", "b"} {
			clear(names)
			if err := tr.openWith(t.Context(), rival, order{Name: name, Workers: 8, Locks: locks}); err != nil {
				t.Fatal(err)
			}
		}
		if len(names) != locks || opened != 2 {
			t.Errorf("%d names, want %d; opened %d times, want twice", len(names), locks, opened)
		}
	}
}

// Goal: a slice that got stuck, or was too short for a pair, is repeated and counted, and never on the
// same locks. Method: two slices get stuck, one makes no pair, and the next one makes some.
func TestStuckSliceIsRepeatedOnOtherLocks(t *testing.T) {
	t.Parallel()
	o := order{Name: "first", Workers: 4}
	names, lengths := map[string]int{}, []time.Duration{}
	perform := func(o order) (slice, figures, error) {
		names[o.Name]++
		lengths = append(lengths, o.For)
		s := []slice{{Stuck: 3}, {Stuck: 1}, {}, {Inside: 10, Pairs: 10, Window: time.Second}}[len(lengths)-1]
		return s, figures{}, nil
	}
	f, err := contestant{}.pairs(&o, time.Second, perform)
	if err != nil || f[figureStuck] != 4 || f[figureRate] != 10 {
		t.Errorf("%v stuck, %v pairs a second, %v; want 4 and 10", f[figureStuck], f[figureRate], err)
	}
	if len(names) != 3 || names["first"] != 1 || o.Name == "first" {
		t.Errorf("the slices were on %v", names)
	}
	if lengths[2] != time.Second || lengths[3] != 2*time.Second {
		t.Errorf("the slices lasted for %v", lengths)
	}
	always := func(order) (slice, figures, error) { return slice{Stuck: 1}, nil, nil }
	if _, err := (contestant{}).pairs(&o, time.Second, always); err == nil {
		t.Error("who is stuck each time has figures")
	}
}

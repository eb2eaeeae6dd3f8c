package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: the lock is held for as long as the order says.
func TestSectionLastsAsOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const section = 5 * time.Millisecond
		end := time.Now().Add(100 * time.Millisecond)
		var holds []hold
		if err := (order{Section: section}).holdUntil(t.Context(), takesTime(time.Millisecond), seat{}, end, &holds); err != nil || len(holds) == 0 {
			t.Fatalf("%d holds, %v", len(holds), err)
		}
		for _, h := range holds {
			if got := time.Duration(h.Given - h.Granted); got != section {
				t.Errorf("held for %v, want %v", got, section)
			}
		}
	})
}

// unfair is a contestant that grants the lock to all but its first worker. That one has its turn in the
// tail, at the time given, or never. It writes once a cycle inside the slice, and a lot before and after.
func unfair(wire *wire, from, to time.Time, serve time.Duration) client {
	var mu sync.Mutex
	workers := 0
	return client{worker: func(string) (worker, error) {
		workers++
		starves := workers == 1
		return worker{
			lock: func(ctx context.Context) error {
				if starves && serve == 0 {
					<-ctx.Done()
					return errors.New("never served")
				}
				if starves {
					time.Sleep(time.Until(to.Add(serve)))
				}
				mu.Lock()
				wire.writes.Add(1)
				if now := time.Now(); now.Before(from) || now.After(to) {
					wire.writes.Add(1000)
				}
				return nil
			},
			unlock: func(context.Context) error { mu.Unlock(); return nil },
		}, nil
	}}
}

// Goal: what a run on one lock counts is what happened inside the slice, and the tail is told apart.
// Method: a contestant that is busy before and after the slice, with one worker that has to wait for
// the end, or has its turn never.
func TestContentionCountsInsideTheSlice(t *testing.T) {
	for name, c := range map[string]struct {
		serve, tail time.Duration
		stranded    float64
	}{
		"late":  {serve: 80 * time.Millisecond, tail: 80 * time.Millisecond},
		"never": {tail: patience, stranded: 1},
	} {
		const warmUp, length = 100 * time.Millisecond, 300 * time.Millisecond
		began, wire := time.Now(), new(wire)
		slice := window{began.Add(warmUp).UnixNano(), began.Add(warmUp + length).UnixNano()}
		o := order{Name: name, Locks: 1, Workers: 16, WarmUp: warmUp, For: length}
		marks := []mark{{}}
		note := func() { marks = append(marks, mark{Moment: time.Now().UnixNano(), Writes: wire.writes.Load()}) }
		workers, err := o.workers(unfair(wire, time.Unix(0, slice.from), time.Unix(0, slice.to), c.serve))
		if err != nil {
			t.Fatal(err)
		}
		holds, err := o.contend(t.Context(), workers, note, func() (time.Time, error) { return began, nil })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l := newLedger(holds, slice)
		f := l.figures()
		if got := f[figureTail]; got < c.tail.Seconds()*1e3 {
			t.Errorf("%s: the tail is %v ms, want %v at least", name, got, c.tail)
		}
		if got := f[figureStranded]; got != c.stranded {
			t.Errorf("%s: %v stranded, want %v", name, got, c.stranded)
		}
		if slices.ContainsFunc(l.granted(), func(h hold) bool { return h.Worker == 0 }) {
			t.Errorf("%s: the worker that starves has grants inside the slice", name)
		}
		// On a machine that is busy with something else, the few cycles do not outweigh the writes of
		// the workers that are late.
		const enough = 5000
		got := l.costs(watched{}, []report{{Marks: marks}})[figureWritesEach]
		if len(l.granted()) >= enough && (got < 0.5 || got > 50) {
			t.Errorf("%s: %v writes a cycle, want about 1: thousands were outside", name, got)
		}
		if err := l.exclusive(0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

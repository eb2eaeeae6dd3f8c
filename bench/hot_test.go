package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"
)

// unjust is a contestant that grants the lock to all but its first worker. That one has its turn in
// the tail, at the time given. It writes once a cycle inside the slice, and a lot before and after.
type unjust struct {
	wire    *wire
	length  time.Duration // of the slice
	serve   time.Duration // after the slice; 0 for never
	mu      sync.Mutex
	workers int
}

func (u *unjust) Close() {}

func (u *unjust) Worker(string) worker {
	u.workers++
	return &unjustWorker{unjust: u, starves: u.workers == 1}
}

type unjustWorker struct {
	*unjust
	starves bool
}

func (w *unjustWorker) Lock(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	end := deadline.Add(-patience)
	if w.starves {
		if w.serve == 0 {
			<-ctx.Done()
			return errors.New("never served")
		}
		time.Sleep(time.Until(end.Add(w.serve)))
	}
	w.mu.Lock()
	w.wire.writes.Add(1)
	if now := time.Now(); now.Before(end.Add(-w.length)) || now.After(end) {
		w.wire.writes.Add(1000)
	}
	return nil
}

func (w *unjustWorker) Unlock(context.Context) error {
	w.mu.Unlock()
	return nil
}

// Goal: what a run on one lock counts is what happened inside the slice, and the tail is told apart.
// Method: a contestant that is busy before and after the slice, with one worker that has to wait
// for the end, or has its turn never.
func TestHotSliceCountsInsideTheSlice(t *testing.T) {
	b := &bench{plan: plan{warmUp: 100 * time.Millisecond, hotSlice: 300 * time.Millisecond}}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for name, c := range map[string]struct {
		serve, tail time.Duration
		stranded    int
	}{
		"late":  {serve: 80 * time.Millisecond, tail: 80 * time.Millisecond},
		"never": {tail: patience, stranded: 1},
	} {
		e := entrant{name: name, open: func(_ context.Context, _ string, wire *wire) (contestant, error) {
			return &unjust{wire: wire, length: b.plan.hotSlice, serve: c.serve}, nil
		}}
		run, err := hotSlice(t.Context(), b, e, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := run.tail(); got < c.tail {
			t.Errorf("%s: the tail is %v, want %v at least", name, got, c.tail)
		}
		if got := run.stranded(); got != c.stranded {
			t.Errorf("%s: %d stranded, want %d", name, got, c.stranded)
		}
		if slices.ContainsFunc(run.granted(), func(h hold) bool { return h.Worker == 0 }) {
			t.Errorf("%s: the worker that starves has grants inside the slice", name)
		}
		// On a machine that is busy with something else, the few cycles do not outweigh the
		// writes of the workers that are late.
		const enough = 5000
		if got := run.writesPerCycle(); len(run.granted()) >= enough && (got < 0.5 || got > 50) {
			t.Errorf("%s: %v writes a cycle, want about 1: thousands were outside", name, got)
		}
		if l := run.window.length(); l != b.plan.hotSlice {
			t.Errorf("%s: the window is %v long, want %v", name, l, b.plan.hotSlice)
		}
	}
}

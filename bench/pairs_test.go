package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
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
	tr := &track{entrant: rival, goroutines: 2}
	defer tr.close()
	table := pairTable{stuck: map[string]int{}}
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

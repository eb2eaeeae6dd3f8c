package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: the lock is held for as long as the order says.
func TestSectionLastsAsOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const section = 5 * time.Millisecond
		until := time.Now().Add(100 * time.Millisecond)
		holds, err := holdUntil(t.Context(), takesTime(time.Millisecond), seat{}, section, until)
		if err != nil || len(holds) == 0 {
			t.Fatalf("%d holds, %v", len(holds), err)
		}
		for _, h := range holds {
			if got := time.Duration(h.Given - h.Granted); got != section {
				t.Errorf("held for %v, want %v", got, section)
			}
		}
	})
}

// named is a contestant that remembers the names it was asked for.
type named struct{ names map[string]bool }

func (n named) Close() {}

func (n named) Worker(name string) worker {
	n.names[name] = true
	return takesTime(0)
}

// Goal: each worker has a lock of its own, unless all are to share one.
func TestWorkersShareALockOnlyIfTheyAreTo(t *testing.T) {
	t.Parallel()
	for shared, want := range map[bool]int{false: 8, true: 1} {
		n := named{map[string]bool{}}
		e := entrant{open: func(context.Context, string, *wire) (contestant, error) { return n, nil }}
		tr := &track{entrant: e, server: &server{}, goroutines: 8, shared: shared}
		if err := tr.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(n.names); got != want {
			t.Errorf("shared %v: %d names, want %d", shared, got, want)
		}
	}
}

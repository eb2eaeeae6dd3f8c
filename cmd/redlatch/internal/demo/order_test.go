package demo

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnOrderIsTakenByOneWorkerOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if o := must(takeOrder(folder, 1)); o != (order{}) {
		t.Errorf("an order that nobody gave: %+v", o)
	}
	want := order{Stay: 3 * time.Second, Doomed: true}
	for range 50 {
		check(t, order{Stay: time.Second}.give(folder))
		check(t, want.give(folder)) // in its place
		var taken atomic.Int64
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				if o := must(takeOrder(folder, worker)); o == want {
					taken.Add(1)
				} else if o != (order{}) {
					t.Errorf("took %+v", o)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 1 {
			t.Fatalf("%d workers took the order", taken.Load())
		}
	}
}

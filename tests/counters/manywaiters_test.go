package counters_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: a process with many waiters has all permits in use, far from the server as well: a release hands its permit over,
// and free permits are asked for together. Method: 1,500 waiters of one client, or of ten, for 100 permits, at 10 ms from the
// server, whose clock is fake. A permit a round trip would take 14 s.
func TestManyWaitersKeepAllPermitsInUse(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			s := redlatchtest.NewServer(t)
			var all []*redlatch.PermitSemaphore
			for range clients {
				all = append(all, s.Client(redlatch.Config{}).PermitSemaphore("many"))
			}
			if _, err := all[0].TrySetPermits(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
			s.Delay(10 * time.Millisecond)
			var work sync.WaitGroup
			var used, mostUsed atomic.Int64
			began := time.Now()
			for i := range 1500 {
				work.Go(func() {
					err := redlatch.Do(t.Context(), all[i%clients].Locker(), func(context.Context, *redlatch.Hold) error {
						if n := used.Add(1); n > mostUsed.Load() {
							mostUsed.Store(n)
						}
						used.Add(-1)
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			work.Wait()
			if took := time.Since(began); took > 600*time.Millisecond {
				t.Errorf("%d clients took %v", clients, took)
			}
			if mostUsed.Load() > 100 {
				t.Errorf("%d permits were in use", mostUsed.Load())
			}
			if n, err := all[0].Available(t.Context()); n != 100 || err != nil {
				t.Errorf("%d permits are left, %v", n, err)
			}
		})
	}
}

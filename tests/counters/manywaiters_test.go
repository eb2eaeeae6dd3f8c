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
	"github.com/redlatch/redlatch/tests/internal/check"
)

// user uses one permit of one kind of semaphore.
type user func(ctx context.Context, c *redlatch.Client, work func()) error

var users = map[string]user{
	"leased": func(ctx context.Context, c *redlatch.Client, work func()) error {
		return redlatch.Do(ctx, c.PermitSemaphore("leased").Locker(), func(context.Context, *redlatch.Hold) error {
			work()
			return nil
		})
	},
	"without a lease": func(ctx context.Context, c *redlatch.Client, work func()) error {
		s := c.Semaphore("plain")
		if err := s.Acquire(ctx, 1); err != nil {
			return err
		}
		work()
		return s.Release(ctx, 1)
	},
}

// Goal: a process with many waiters has all permits in use, far from the server as well. Free permits are asked for
// together. A release of a leased permit hands it over. Method: 1,500 waiters of one client, or of ten, for 100 permits,
// at 10 ms from the server, whose clock is fake. A permit a round trip would take 15 s.
func TestManyWaitersKeepAllPermitsInUse(t *testing.T) {
	t.Parallel()
	for kind, use := range users {
		for _, clients := range []int{1, 10} {
			synctest.Test(t, func(t *testing.T) { manyWaiters(t, kind, use, clients) })
		}
	}
}

func manyWaiters(t *testing.T, kind string, use user, clients int) {
	const permits = 100
	s := redlatchtest.NewServer(t)
	var all []*redlatch.Client
	for range clients {
		all = append(all, s.Client(redlatch.Config{}))
	}
	leased, plain := all[0].PermitSemaphore("leased"), all[0].Semaphore("plain")
	check.Must(leased.TrySetPermits(t.Context(), permits))
	check.Must(plain.TrySetPermits(t.Context(), permits))
	s.Delay(10 * time.Millisecond)
	var work sync.WaitGroup
	var used, mostUsed atomic.Int64
	began := time.Now()
	for i := range 1500 {
		work.Go(func() {
			err := use(t.Context(), all[i%clients], func() {
				if n := used.Add(1); n > mostUsed.Load() {
					mostUsed.Store(n)
				}
				used.Add(-1)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	took := time.Since(began)
	t.Logf("%s, %d clients: %v", kind, clients, took)
	if took > 600*time.Millisecond {
		t.Errorf("%s: %d clients took %v", kind, clients, took)
	}
	if mostUsed.Load() > permits {
		t.Errorf("%s: %d permits were in use", kind, mostUsed.Load())
	}
	for _, available := range []func(context.Context) (int, error){leased.Available, plain.Available} {
		if n := check.Must(available(t.Context())); n != permits {
			t.Errorf("%s: %d permits are left", kind, n)
		}
	}
}

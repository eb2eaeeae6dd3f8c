package counters_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
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
// together. A release of a leased permit hands it over. Method: 600 waiters of one client, or of ten, for 100 permits,
// at 10 ms from the server, whose clock is fake. A permit a round trip would take 6 s.
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
	for i := range 600 {
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
	if took > 300*time.Millisecond {
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

// Goal: waiters that leave at any moment lose no permit, and take none beyond those that there are. Method: 300 waiters of
// two processes, for one to three of twenty permits, at 5 ms from the server. Each has 60 ms at most, in fake time.
func TestImpatientWaitersLoseNoPermit(t *testing.T) {
	t.Parallel()
	const permits = 20
	for seed := range uint64(redistest.Stretch(3)) {
		synctest.Test(t, func(t *testing.T) {
			s := redlatchtest.NewServer(t)
			clients := []*redlatch.Client{s.Client(redlatch.Config{}), s.Client(redlatch.Config{})}
			check.Must(clients[0].Semaphore("job").TrySetPermits(t.Context(), permits))
			s.Delay(5 * time.Millisecond)
			random := rand.New(rand.NewPCG(seed, 1))
			var waiters sync.WaitGroup
			var used, served atomic.Int64
			for i := range 300 {
				sem, n := clients[i%2].Semaphore("job"), 1+random.IntN(3)
				patience, work := time.Duration(random.IntN(60_000))*time.Microsecond, time.Duration(random.IntN(5000))*time.Microsecond
				time.Sleep(time.Duration(random.IntN(1000)) * time.Microsecond)
				waiters.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					if err := sem.Acquire(ctx, n); err != nil {
						check.Is(t, "Acquire", err, redlatch.ErrNotAcquired)
						return
					}
					served.Add(1)
					if in := used.Add(int64(n)); in > permits {
						t.Errorf("seed %d: %d permits are in use", seed, in)
					}
					time.Sleep(work)
					used.Add(-int64(n))
					check.Is(t, "Release", sem.Release(ctx, n), nil)
				})
			}
			waiters.Wait()
			time.Sleep(time.Minute)
			if n := check.Must(clients[0].Semaphore("job").Available(t.Context())); n != permits {
				t.Errorf("seed %d: %d permits are left, and %d waiters were served", seed, n, served.Load())
			}
			t.Logf("seed %d: %d of 300 were served", seed, served.Load())
		})
	}
}

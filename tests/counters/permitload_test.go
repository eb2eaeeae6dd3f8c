package counters_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a crowd before one semaphore is served in bounded time, and each grant costs a few commands,
// however many wait. Method: ten clients with a thousand waiters each, a hundred permits, and a spy.
func TestLongTenThousandWaitersForAHundredPermits(t *testing.T) {
	t.Parallel()
	const waiters, clients, permits = 10_000, 10, 100
	for _, kind := range []string{"permits", "semaphore"} {
		server := redistest.Start(t)
		var users []*redlatch.Client
		for range clients {
			d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
			t.Cleanup(d.Close)
			patient := fixture.Quiet(redlatch.Config{CommandTimeout: time.Minute, ReleaseTimeout: time.Minute})
			c, err := redlatch.New(&stage.Tap{Driver: d}, patient)
			users = append(users, fixture.ClosedAtEnd(t, c, err))
		}
		check.Must(users[0].PermitSemaphore("permits").TrySetPermits(t.Context(), permits))
		check.Must(users[0].Semaphore("semaphore").TrySetPermits(t.Context(), permits))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var all sync.WaitGroup
		var inside, most atomic.Int64
		began := time.Now()
		for i := range waiters {
			all.Go(func() {
				c := users[i%clients]
				var h *redlatch.Hold
				var err error
				if kind == "permits" {
					h, err = c.PermitSemaphore(kind).Acquire(ctx)
				} else {
					err = c.Semaphore(kind).Acquire(ctx, 1)
				}
				if err != nil {
					t.Errorf("%s, number %d: %v", kind, i, err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond) // its work
				inside.Add(-1)
				if h != nil {
					err = h.Unlock(ctx)
				} else {
					err = c.Semaphore(kind).Release(ctx, 1)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		took, scripts := time.Since(began), int64(0)
		for _, c := range users {
			scripts += c.Driver().(*stage.Tap).Scripts.Load()
		}
		each := float64(scripts) / waiters
		t.Logf("%s: %v, %.1f scripts for each grant, at most %d inside", kind, took.Round(time.Millisecond), each, most.Load())
		if most.Load() > permits || each > 12 {
			t.Errorf("%s: at most %d inside of %d, %.1f scripts for each grant", kind, most.Load(), permits, each)
		}
	}
}

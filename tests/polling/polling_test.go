package polling_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Waits that poll.

// spin polls as a spin lock of Redisson does.
var (
	spin       = redlatch.WithBackoff(time.Millisecond, 128*time.Millisecond)
	spinConfig = redlatch.Config{Backoff: redlatch.Backoff{Max: 128 * time.Millisecond}}
)

// Goal: one waiter of a process asks, at the pauses that were asked for. Method: waiters behind a lock
// that stays held for longer than they wait.
func TestOneWaiterOfAProcessPolls(t *testing.T) {
	for _, waiters := range []int{1, 100} {
		t.Run(fmt.Sprint(waiters), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
				before := s.Driver.Scripts.Load()
				began := time.Now()
				var wg sync.WaitGroup
				for range waiters {
					wg.Go(func() {
						_, err := s.Client.Mutex("job").Lock(s.Limited(), spin, redlatch.WithWait(10*time.Second))
						check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
					})
					synctest.Wait()
				}
				wg.Wait()
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("the waits took %v", took)
				}
				// 7 to 13 requests in the first 128 ms, and then one every 64 to 128 ms.
				check.Within(t, "requests in 10 s", s.Driver.Scripts.Load()-before, 80, 175)
			})
		})
	}
}

// Goal: a wait ends in time, and with the lock if it was free a moment before. Method: the lock becomes
// free at different times around the end of the wait, and the pauses are random.
func TestLongTheResultBeatsTheDeadlineOfAWaitThatPolls(t *testing.T) {
	for early, want := range map[time.Duration]bool{500 * time.Millisecond: true, 5 * time.Millisecond: true, -time.Millisecond: false} {
		t.Run(fmt.Sprint(early), func(t *testing.T) {
			for range 100 {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { pollUntil(s, early, want) })
			}
		})
	}
}

// pollUntil waits for a lock that becomes free so early before the end of the wait.
func pollUntil(s *stage.Stage, early time.Duration, want bool) {
	s.Helper()
	const wait = 30 * time.Second
	check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(time.Hour)))
	time.AfterFunc(wait-early, func() { s.Memory.Miniredis().Del("job") })
	began := time.Now()
	h, err := s.Client.Mutex("job").Lock(s.Limited(), redlatch.WithBackoff(time.Second, 20*time.Second), redlatch.WithWait(wait))
	if took := time.Since(began); took > wait {
		s.Errorf("the wait took %v", took)
	}
	if (err == nil) != want {
		s.Errorf("Lock is %v; the lock was free %v before the end", err, early)
	}
	if err == nil {
		_ = h.Unlock(s.Limited())
	}
}

// Goal: the goroutines of one process do not keep another process out that polls. Method: ten goroutines
// of one client take the lock again and again. Nobody tells the other client when it is free.
func TestLongAProcessThatPollsGetsItsTurn(t *testing.T) {
	for name, cfg := range map[string]redlatch.Config{"client": spinConfig, "acquisition": {}} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, cfg, func(t *testing.T, s *stage.Stage) { takeTurns(s, cfg, 10*128*time.Millisecond) })
		})
	}
}

// takeTurns has ten goroutines of one client take a lock again and again, with these options, and one of
// another client now and then, which waits for so long at most. Nobody is told of a release.
func takeTurns(s *stage.Stage, cfg redlatch.Config, most time.Duration, opts ...redlatch.LockOption) {
	s.Helper()
	s.Tap().Deaf.Store(true)
	other := s.Other(cfg)
	opts = append(opts, spin)
	ctx, stop := context.WithCancel(s.Limited())
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for ctx.Err() == nil {
				h := check.Must(s.Client.Mutex("job").Lock(s.Limited(), opts...))
				time.Sleep(5 * time.Millisecond)
				_ = h.Unlock(s.Limited())
			}
		})
	}
	for range 20 {
		time.Sleep(time.Second)
		began := time.Now()
		h, err := other.Mutex("job").Lock(s.Limited(), spin, redlatch.WithWait(10*time.Second))
		if err != nil {
			s.Error(err)
			break
		}
		check.Within(s.T, "wait", time.Since(began), 0, most)
		_ = h.Unlock(s.Limited())
	}
	stop()
	wg.Wait()
}

// Goal: of the waiters for a fair lock only the next in turn polls, it enters within its longest pause,
// and the order stays. Method: the requests are counted while the lock is held for long.
func TestOnlyTheNextInTurnPollsForAFairMutex(t *testing.T) {
	stage.Story(t, spinConfig, func(t *testing.T, s *stage.Stage) {
		other := s.Other(spinConfig)
		h := check.Must(s.Client.FairMutex("job").Lock(s.Limited()))
		const section = 500 * time.Millisecond // time to learn who is the next
		var order []int
		done := make(chan struct{})
		for i := range 20 {
			go func() {
				h := check.Must([]*redlatch.Client{s.Client, other}[i%2].FairMutex("job").Lock(s.Limited()))
				order = append(order, i)
				time.Sleep(section)
				_ = h.Unlock(s.Limited())
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		before := s.Driver.Scripts.Load()
		time.Sleep(10 * time.Second)
		// 78 to 157 of the next in turn, two keep-alives in 128 ms, renewals, and each waiter once in
		// thirty seconds.
		check.Within(t, "requests in 10 s", s.Driver.Scripts.Load()-before, 230, 370)
		freed := time.Now()
		_ = h.Unlock(s.Limited())
		for range 20 {
			<-done
		}
		check.Within(t, "20 waiters of two processes", time.Since(freed), 20*section, 20*(section+130*time.Millisecond))
		for i, n := range order {
			if n != i {
				t.Fatalf("served in the order %v", order)
			}
		}
	})
}

func TestCountersArePolledFor(t *testing.T) {
	stage.Story(t, spinConfig, func(t *testing.T, s *stage.Stage) {
		d, one, other := s.Tap(), s.Client, s.Other(spinConfig)
		check.Must(one.Semaphore("sem").TrySetPermits(t.Context(), 0))
		check.Must(one.PermitSemaphore("permits").TrySetPermits(t.Context(), 0))
		check.Must(one.Latch("latch").TrySetCount(t.Context(), 1))
		for name, c := range map[string]struct {
			wait func(ctx context.Context) error
			open func(ctx context.Context) error
		}{
			"semaphore": {
				func(ctx context.Context) error { return one.Semaphore("sem").Acquire(ctx, 1) },
				func(ctx context.Context) error { return other.Semaphore("sem").AddPermits(ctx, 1) },
			},
			"permits": {
				func(ctx context.Context) error { _, err := one.PermitSemaphore("permits").Acquire(ctx); return err },
				func(ctx context.Context) error { return other.PermitSemaphore("permits").AddPermits(ctx, 1) },
			},
			"latch": {
				func(ctx context.Context) error { return one.Latch("latch").Wait(ctx) },
				func(ctx context.Context) error { return other.Latch("latch").CountDown(ctx) },
			},
		} {
			ended := make(chan time.Time, 1)
			go func() {
				if err := c.wait(s.Limited()); err != nil {
					t.Error(name, err)
				}
				ended <- time.Now()
			}()
			time.Sleep(10 * time.Second)
			if err := c.open(s.Limited()); err != nil {
				t.Error(name, err)
			}
			opened := time.Now()
			check.Within(t, name+": wait after the release", (<-ended).Sub(opened), 0, 128*time.Millisecond)
		}
		if n := d.Listens.Load(); n > 0 {
			t.Errorf("%d connections for messages", n)
		}
	})
}

package redlatch_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// A semaphore whose permits nobody owns.

func TestASemaphoreCountsItsPermits(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, url string) {
		ctx, c := t.Context(), open(t, url, redlatch.Config{})
		s := c.Semaphore(redistest.Name(t))
		wantAvailable(t, s, 0)
		if ok, err := s.TryAcquire(ctx, 1); ok || err != nil {
			t.Errorf("one permit of none: %v, %v", ok, err)
		}
		for _, want := range []bool{true, false} {
			if set, err := s.TrySetPermits(ctx, 5); set != want || err != nil {
				t.Errorf("TrySetPermits: %v, %v", set, err)
			}
		}
		if err := s.Acquire(ctx, 3); err != nil {
			t.Error(err)
		}
		if ok, err := s.TryAcquire(ctx, 3); ok || err != nil {
			t.Errorf("three permits of two: %v, %v", ok, err)
		}
		if ok, err := s.TryAcquire(ctx, 2); !ok || err != nil {
			t.Errorf("two permits of two: %v, %v", ok, err)
		}
		if n, err := s.Drain(ctx); n != 0 || err != nil {
			t.Errorf("Drain: %v, %v", n, err)
		}
		if err := errors.Join(s.Release(ctx, 4), s.AddPermits(ctx, -10)); err != nil {
			t.Error(err)
		}
		wantAvailable(t, s, -6)
		if n, err := s.Drain(ctx); n != 0 || err != nil {
			t.Errorf("Drain: %v, %v", n, err)
		}
		if err := s.Release(ctx, 9); err != nil {
			t.Error(err)
		}
		if n, err := s.Drain(ctx); n != 3 || err != nil {
			t.Errorf("Drain: %v, %v", n, err)
		}
		wantAvailable(t, s, 0)
		if err := s.AddPermits(ctx, math.MaxInt32); err != nil {
			t.Error(err)
		}
		if err := s.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnsupported) {
			t.Errorf("more than an int of Java: %v", err)
		}
		wantAvailable(t, s, math.MaxInt32)
	})
}

func TestWrongCountsAndKeysAreRefused(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	s, l := c.Semaphore("job"), c.Latch("job")
	for what, err := range map[string]error{
		"acquire 0": s.Acquire(ctx, 0), "release 0": s.Release(ctx, 0), "release -1": s.Release(ctx, -1),
		"set -1": second(s.TrySetPermits(ctx, -1)), "try 0": second(s.TryAcquire(ctx, 0)), "acquire too many": s.Acquire(ctx, math.MaxInt32+1),
		"add too few": s.AddPermits(ctx, math.MinInt32), "set 0": second(l.TrySetCount(ctx, 0)),
	} {
		if !isConfig(err) {
			t.Errorf("%s: %v, want a *ConfigError", what, err)
		}
	}
	h := must(c.Mutex("job").Lock(ctx))
	for what, err := range map[string]error{
		"acquire": s.Acquire(ctx, 1), "release": s.Release(ctx, 1), "set": second(s.TrySetPermits(ctx, 1)), "drain": second(s.Drain(ctx)),
		"available": second(s.Available(ctx)), "close": second(l.TrySetCount(ctx, 1)), "count": second(l.Count(ctx)), "count down": l.CountDown(ctx), "wait": l.Wait(ctx),
	} {
		if !errors.Is(err, redlatch.ErrWrongType) {
			t.Errorf("%s on a mutex: %v, want ErrWrongType", what, err)
		}
	}
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// A lost reply takes or returns permits once, and a copy of a request that arrives later none.
func TestALostReplyCountsOnce(t *testing.T) {
	for _, what := range []fate{isNotSent, isLost, losesAnswer} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			ctx, sem := s.limited(), s.client.Semaphore("job")
			must(sem.TrySetPermits(ctx, 10))
			l := s.client.Latch("latch")
			for range 3 { // in the first round the server does not know the scripts
				for name, c := range map[string]struct {
					do    func() error
					delta int
				}{
					"acquire": {func() error { return sem.Acquire(ctx, 2) }, -2},
					"release": {func() error { return sem.Release(ctx, 3) }, 3},
					"add":     {func() error { return sem.AddPermits(ctx, -1) }, -1},
					"set":     {func() error { return second(sem.TrySetPermits(ctx, 99)) }, 0},
				} {
					before := must(sem.Available(ctx))
					s.driver.spoil(once(what))
					if err := c.do(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					wantAvailable(t, sem, before+c.delta)
				}
				s.driver.spoil(once(what))
				if set, err := l.TrySetCount(ctx, 3); !set || err != nil {
					t.Errorf("TrySetCount: %v, %v", set, err)
				}
				for left := range []int{2, 1, 0} {
					s.driver.spoil(once(what))
					if err := l.CountDown(ctx); err != nil {
						t.Error(err)
					}
					if n, err := l.Count(ctx); n != 2-left || err != nil {
						t.Errorf("the count is %d, %v, want %d", n, err, 2-left)
					}
				}
			}
			s.driver.spoil(once(what))
			left := must(sem.Available(ctx))
			if n, err := sem.Drain(ctx); n != left || err != nil {
				t.Errorf("drained %d, %v, want %d", n, err, left)
			}
		})
	}
}

// A copy of a request that lay in a dead connection takes nothing when it arrives at last.
func TestALateCopyChangesNothing(t *testing.T) {
	for i := range 4 {
		free := 5 * (i % 2) // refused, or granted
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			by := s.stranger // no later request of this client comes before the copy
			if i < 2 {
				by = func() *redlatch.Client { return s.client }
			}
			ctx, sem := s.limited(), s.client.Semaphore("job")
			must(sem.TrySetPermits(ctx, 5))
			must(sem.TryAcquire(ctx, 5))
			if err := sem.Release(ctx, 5); err != nil {
				t.Fatal(err)
			}
			must(sem.TryAcquire(ctx, 5-min(free, 4))) // the server knows the scripts
			net := s.tap()
			var late []func()
			first := true
			net.set(func(commands []driver.Command, send sender) []driver.Reply {
				if first {
					first = false
					late = append(late, func() { s.memory.Pipeline(ctx, commands...) })
					return failAll(commands, errCut)
				}
				return send(commands...)
			})
			if ok, err := sem.TryAcquire(ctx, 1); ok != (free > 0) || err != nil {
				t.Errorf("TryAcquire: %v, %v", ok, err)
			}
			time.Sleep(time.Second)
			if err := by().Semaphore("job").AddPermits(ctx, 10); err != nil {
				t.Fatal(err)
			}
			want := must(sem.Available(ctx))
			for _, arrive := range late {
				arrive()
			}
			wantAvailable(t, sem, want)
		})
	}
}

// After a cancelled acquisition the permits are there, whatever became of its requests.
func TestACancelledAcquisitionTakesNothing(t *testing.T) {
	for _, what := range []fate{isLost, losesAnswer} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			ctx, sem := s.limited(), s.client.Semaphore("job")
			must(sem.TrySetPermits(ctx, 5))
			must(sem.TryAcquire(ctx, 1))
			net := s.tap()
			var lost atomic.Bool
			lost.Store(true)
			net.set(func(commands []driver.Command, send sender) []driver.Reply {
				if !lost.Load() {
					return send(commands...)
				}
				if what == losesAnswer {
					send(commands...)
				}
				return failAll(commands, errCut)
			})
			leaving, leave := context.WithTimeout(ctx, time.Second)
			defer leave()
			time.AfterFunc(time.Second-time.Millisecond, func() { lost.Store(false) })
			if err := sem.Acquire(leaving, 2); !errors.Is(err, redlatch.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d: %v", what, err)
			}
			wantAvailable(t, sem, 4)
		})
	}
}

// If nobody answers, the outcome is unknown, and is resolved when somebody does.
func TestAnUnknownAcquisitionIsUndoneInTheEnd(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem := s.limited(), s.client.Semaphore("job")
		must(sem.TrySetPermits(ctx, 5))
		must(sem.TryAcquire(ctx, 1))
		s.driver.spoil(func([]string) fate { return losesAnswer })
		err := sem.Acquire(ctx, 2)
		if !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Errorf("Acquire: %v", err)
		}
		s.driver.spoil(nil)
		time.Sleep(5 * time.Second)
		wantAvailable(t, sem, 4)
	})
}

// Waiters are served in the order of arrival, whatever they ask for; who leaves wakes the next.
func TestWaitersForASemaphoreAreServedInTheOrderOfArrival(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage) {
		ctx, sem, far := s.limited(), s.client.Semaphore("job"), s.stranger().Semaphore("job")
		must(sem.TrySetPermits(ctx, 0))
		leaving, leave := context.WithCancel(ctx)
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i, n := range []int{5, 4, 3, 1, 1} {
			all.Go(func() {
				waiting := ctx
				if i == 0 || i == 3 {
					waiting = leaving
				}
				if sem.Acquire(waiting, n) == nil {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		for step, do := range []func() error{
			func() error { return far.Release(ctx, 3) }, func() error { leave(); return nil },
			func() error { return sem.Release(ctx, 1) }, func() error { return far.AddPermits(ctx, 5) },
		} {
			time.Sleep(time.Second)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			mu.Lock()
			if want := [][]int{nil, nil, {1}, {1, 2, 4}}[step]; !slices.Equal(order, want) {
				t.Errorf("after step %d were served %v, want %v", step, order, want)
			}
			mu.Unlock()
		}
		all.Wait()
		wantAvailable(t, sem, 1)
		wantNothingIn(t, []*redlatch.Client{s.client})
	})
}

// Messages are not needed: without them a waiter asks at the poll cap.
func TestWaitersForCountersAskWithoutMessages(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		net := s.tap()
		net.deaf.Store(true)
		ctx, far := s.limited(), s.stranger()
		must(far.Latch("latch").TrySetCount(ctx, 1))
		began := time.Now()
		var all sync.WaitGroup
		wait := func(wait func() error) {
			all.Go(func() {
				if err := wait(); err != nil {
					t.Error(err)
				}
			})
		}
		wait(func() error { return s.client.Semaphore("job").Acquire(ctx, 1) })
		wait(func() error { return second(s.client.PermitSemaphore("permits").Acquire(ctx)) })
		for range 200 { // more than are told at once
			wait(func() error { return s.client.Latch("latch").Wait(ctx) })
		}
		time.Sleep(time.Minute)
		must(far.Semaphore("job").TrySetPermits(ctx, 1))
		must(far.PermitSemaphore("permits").TrySetPermits(ctx, 1))
		must(0, far.Latch("latch").CountDown(ctx))
		all.Wait()
		within(t, "the wait without messages", time.Since(began)-time.Minute, 0, 5*time.Second)
		if n := s.driver.scripts.Load(); n > 200 {
			t.Errorf("%d scripts in a minute", n)
		}
	})
}

func TestCloseEndsTheWaitForCounters(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, c := s.limited(), s.other(redlatch.Config{})
		must(c.Latch("latch").TrySetCount(ctx, 1))
		errs := make(chan error, 2)
		go func() { errs <- c.Semaphore("job").Acquire(ctx, 1) }()
		go func() { errs <- c.Latch("latch").Wait(ctx) }()
		synctest.Wait()
		if st := c.Stats(); st.Waiters != 2 {
			t.Errorf("waiting: %d", st.Waiters)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
		for _, err := range []error{<-errs, <-errs, c.Semaphore("job").Release(ctx, 1), c.Latch("latch").CountDown(ctx), second(c.Semaphore("job").Available(ctx))} {
			if !errors.Is(err, redlatch.ErrClosed) {
				t.Errorf("a closed client: %v", err)
			}
		}
	})
}

// useCounters has two clients use every verb of semaphores and latches, and wait for one another.
func useCounters(t *testing.T, a, b *redlatch.Client, name string) {
	t.Helper()
	ctx := t.Context()
	sem, permits, l := a.Semaphore(name+"sem"), a.PermitSemaphore(name+"per"), a.Latch("orders:latch")
	must(sem.TrySetPermits(ctx, 1))
	must(permits.TrySetPermits(ctx, 1))
	must(l.TrySetCount(ctx, 2))
	must(0, errors.Join(sem.Acquire(ctx, 1), l.CountDown(ctx), permits.AddPermits(ctx, -1), sem.AddPermits(ctx, 0)))
	_ = must(sem.Available(ctx)) + must(permits.Available(ctx)) + must(l.Count(ctx)) + must(sem.Drain(ctx))
	for what, pair := range map[string]struct{ wait, free func() error }{
		"semaphore": {func() error { return b.Semaphore(sem.Name()).Acquire(ctx, 1) }, func() error { return sem.Release(ctx, 1) }},
		"latch":     {func() error { return b.Latch(l.Name()).Wait(ctx) }, func() error { return l.CountDown(ctx) }},
		"permits": {func() error {
			h, err := b.PermitSemaphore(permits.Name()).Acquire(ctx, redlatch.WithLease(time.Second))
			if err == nil {
				err = h.Extend(ctx, time.Second)
			}
			return err
		}, func() error { return permits.AddPermits(ctx, 1) }},
	} {
		done := make(chan error, 1)
		go func() { done <- pair.wait() }()
		redistest.Eventually(t, 10*time.Second, func() bool { return b.Stats().Waiters > 0 && b.Stats().Subscriptions > 0 }, what+": the other waits")
		if err := pair.free(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the other was not told", what)
			return
		}
	}
	if h := must(permits.Acquire(ctx, redlatch.WithWait(10*time.Second))); h.Unlock(ctx) != nil { // after the lease of the other
		t.Error("permits:", h.Err())
	}
}

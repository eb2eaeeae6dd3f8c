package counters_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A semaphore whose permits nobody owns.

func TestASemaphoreCountsItsPermits(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, c := t.Context(), fixture.Open(t, url, redlatch.Config{})
		s := c.Semaphore(redistest.Name(t))
		fixture.Available(t, s, 0)
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
		fixture.Available(t, s, -6)
		if n, err := s.Drain(ctx); n != 0 || err != nil {
			t.Errorf("Drain: %v, %v", n, err)
		}
		if err := s.Release(ctx, 9); err != nil {
			t.Error(err)
		}
		if n, err := s.Drain(ctx); n != 3 || err != nil {
			t.Errorf("Drain: %v, %v", n, err)
		}
		fixture.Available(t, s, 0)
		if err := s.AddPermits(ctx, math.MaxInt32); err != nil {
			t.Error(err)
		}
		if err := s.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnsupported) {
			t.Errorf("more than an int of Java: %v", err)
		}
		fixture.Available(t, s, math.MaxInt32)
	})
}

func TestWrongCountsAndKeysAreRefused(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), fixture.Open(t, "memory://"+redistest.Name(t), redlatch.Config{})
	s, l := c.Semaphore("job"), c.Latch("job")
	for what, err := range map[string]error{
		"acquire 0": s.Acquire(ctx, 0), "release 0": s.Release(ctx, 0), "release -1": s.Release(ctx, -1),
		"set -1": check.ErrOf(s.TrySetPermits(ctx, -1)), "try 0": check.ErrOf(s.TryAcquire(ctx, 0)), "acquire too many": s.Acquire(ctx, math.MaxInt32+1),
		"add too few": s.AddPermits(ctx, math.MinInt32), "set 0": check.ErrOf(l.TrySetCount(ctx, 0)),
	} {
		if !isConfig(err) {
			t.Errorf("%s: %v, want a *ConfigError", what, err)
		}
	}
	h := check.Must(c.Mutex("job").Lock(ctx))
	for what, err := range map[string]error{
		"acquire": s.Acquire(ctx, 1), "release": s.Release(ctx, 1), "set": check.ErrOf(s.TrySetPermits(ctx, 1)), "drain": check.ErrOf(s.Drain(ctx)),
		"available": check.ErrOf(s.Available(ctx)), "close": check.ErrOf(l.TrySetCount(ctx, 1)), "count": check.ErrOf(l.Count(ctx)), "count down": l.CountDown(ctx), "wait": l.Wait(ctx),
	} {
		if !errors.Is(err, redlatch.ErrWrongType) {
			t.Errorf("%s on a mutex: %v, want ErrWrongType", what, err)
		}
	}
	if err := h.Unlock(ctx); err != nil {
		t.Error(err)
	}
}

// A lost reply takes or returns permits once, and a copy of a request that arrives later none.
func TestALostReplyCountsOnce(t *testing.T) {
	for _, what := range []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			ctx, sem := s.Limited(), s.Client.Semaphore("job")
			check.Must(sem.TrySetPermits(ctx, 10))
			l := s.Client.Latch("latch")
			for range 3 { // in the first round the server does not know the scripts
				for name, c := range map[string]struct {
					do    func() error
					delta int
				}{
					"acquire": {func() error { return sem.Acquire(ctx, 2) }, -2},
					"release": {func() error { return sem.Release(ctx, 3) }, 3},
					"add":     {func() error { return sem.AddPermits(ctx, -1) }, -1},
					"set":     {func() error { return check.ErrOf(sem.TrySetPermits(ctx, 99)) }, 0},
				} {
					before := check.Must(sem.Available(ctx))
					s.Driver.Spoil(stage.Once(what))
					if err := c.do(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					fixture.Available(t, sem, before+c.delta)
				}
				s.Driver.Spoil(stage.Once(what))
				if set, err := l.TrySetCount(ctx, 3); !set || err != nil {
					t.Errorf("TrySetCount: %v, %v", set, err)
				}
				for left := range []int{2, 1, 0} {
					s.Driver.Spoil(stage.Once(what))
					if err := l.CountDown(ctx); err != nil {
						t.Error(err)
					}
					if n, err := l.Count(ctx); n != 2-left || err != nil {
						t.Errorf("the count is %d, %v, want %d", n, err, 2-left)
					}
				}
			}
			s.Driver.Spoil(stage.Once(what))
			left := check.Must(sem.Available(ctx))
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
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			by := s.Stranger // no later request of this client comes before the copy
			if i < 2 {
				by = func() *redlatch.Client { return s.Client }
			}
			ctx, sem := s.Limited(), s.Client.Semaphore("job")
			check.Must(sem.TrySetPermits(ctx, 5))
			check.Must(sem.TryAcquire(ctx, 5))
			if err := sem.Release(ctx, 5); err != nil {
				t.Fatal(err)
			}
			check.Must(sem.TryAcquire(ctx, 5-min(free, 4))) // the server knows the scripts
			net := s.Tap()
			var late []func()
			first := true
			net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				if first {
					first = false
					late = append(late, func() { s.Memory.Pipeline(ctx, commands...) })
					return stage.FailAll(commands, stage.ErrCut)
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
			want := check.Must(sem.Available(ctx))
			for _, arrive := range late {
				arrive()
			}
			fixture.Available(t, sem, want)
		})
	}
}

// After a cancelled acquisition the permits are there, whatever became of its requests.
func TestACancelledAcquisitionTakesNothing(t *testing.T) {
	for _, what := range []stage.Fate{stage.Lost, stage.AnswerLost} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			ctx, sem := s.Limited(), s.Client.Semaphore("job")
			check.Must(sem.TrySetPermits(ctx, 5))
			check.Must(sem.TryAcquire(ctx, 1))
			leaving, leave := context.WithTimeout(ctx, time.Second)
			defer leave()
			s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				if leaving.Err() != nil {
					return send(commands...)
				}
				if what == stage.AnswerLost {
					send(commands...)
				}
				return stage.FailAll(commands, stage.ErrCut)
			})
			if err := sem.Acquire(leaving, 2); !errors.Is(err, redlatch.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d: %v", what, err)
			}
			fixture.Available(t, sem, 4)
		})
	}
}

// Waiters are served in the order of arrival, whatever they ask for; who leaves wakes the next.
func TestWaitersForASemaphoreAreServedInTheOrderOfArrival(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		ctx, sem, far := s.Limited(), s.Client.Semaphore("job"), s.Stranger().Semaphore("job")
		check.Must(sem.TrySetPermits(ctx, 0))
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
			func() error { return sem.Release(ctx, 1) }, func() error { return far.AddPermits(ctx, 3) },
			func() error { return far.AddPermits(ctx, 2) },
		} {
			time.Sleep(time.Second)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			mu.Lock()
			if want := [][]int{nil, nil, {1}, {1, 2}, {1, 2, 4}}[step]; !slices.Equal(order, want) {
				t.Errorf("after step %d were served %v, want %v", step, order, want)
			}
			mu.Unlock()
		}
		all.Wait()
		fixture.Available(t, sem, 1)
		check.NothingIn(t, []*redlatch.Client{s.Client})
	})
}

// Messages are not needed: without them a waiter asks at the poll cap.
func TestWaitersForCountersAskWithoutMessages(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net := s.Tap()
		net.Deaf.Store(true)
		ctx, far := s.Limited(), s.Stranger()
		check.Must(far.Latch("latch").TrySetCount(ctx, 1))
		began := time.Now()
		var all sync.WaitGroup
		wait := func(wait func() error) {
			all.Go(func() {
				if err := wait(); err != nil {
					t.Error(err)
				}
			})
		}
		wait(func() error { return s.Client.Semaphore("job").Acquire(ctx, 1) })
		wait(func() error { return check.ErrOf(s.Client.PermitSemaphore("permits").Acquire(ctx)) })
		for range 200 { // more than are told at once
			wait(func() error { return s.Client.Latch("latch").Wait(ctx) })
		}
		time.Sleep(time.Minute)
		check.Must(far.Semaphore("job").TrySetPermits(ctx, 1))
		check.Must(far.PermitSemaphore("permits").TrySetPermits(ctx, 1))
		check.Must(0, far.Latch("latch").CountDown(ctx))
		all.Wait()
		check.Within(t, "the wait without messages", time.Since(began)-time.Minute, 0, 5*time.Second)
		if n := s.Driver.Scripts.Load(); n > 200 {
			t.Errorf("%d scripts in a minute", n)
		}
	})
}

func TestCloseEndsTheWaitForCounters(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, c := s.Limited(), s.Other(redlatch.Config{})
		check.Must(c.Latch("latch").TrySetCount(ctx, 1))
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
		for _, err := range []error{<-errs, <-errs, c.Semaphore("job").Release(ctx, 1), c.Latch("latch").CountDown(ctx), check.ErrOf(c.Semaphore("job").Available(ctx))} {
			if !errors.Is(err, redlatch.ErrClosed) {
				t.Errorf("a closed client: %v", err)
			}
		}
	})
}

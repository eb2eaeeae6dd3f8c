package counters_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A count-down latch.

func TestALatchOpensAtZero(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		ctx, c := t.Context(), fixture.Open(t, url, redlatch.Config{})
		far := fixture.Open(t, url, redlatch.Config{})
		l := c.Latch(redistest.Name(t))
		if err := errors.Join(l.Wait(ctx), l.CountDown(ctx)); err != nil {
			t.Errorf("an open latch: %v", err)
		}
		for _, want := range []bool{true, false} {
			if set, err := l.TrySetCount(ctx, 3); set != want || err != nil {
				t.Errorf("TrySetCount: %v, %v", set, err)
			}
		}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := far.Latch(l.Name()).Wait(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		for left := range 3 {
			if n, err := l.Count(ctx); n != 3-left || err != nil {
				t.Errorf("the count is %d, %v", n, err)
			}
			if err := l.CountDown(ctx); err != nil {
				t.Error(err)
			}
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the waiters were told after %v", took)
		}
		if n, err := l.Count(ctx); n != 0 || err != nil {
			t.Errorf("the count is %d, %v", n, err)
		}
	})
}

// Nobody passes before zero, everybody passes at zero, and a latch that is closed again holds back who
// comes later.
func TestNobodyPassesAClosedLatch(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		ctx, l, far := s.Limited(), s.Client.Latch("latch"), s.Stranger().Latch("latch")
		check.Must(far.TrySetCount(ctx, 2))
		var passed atomic.Int64
		var all sync.WaitGroup
		wait := func(n int) {
			for range n {
				all.Go(func() { check.Must(0, l.Wait(ctx)); passed.Add(1) })
			}
		}
		wait(300)
		leaving, leave := context.WithTimeout(ctx, time.Minute)
		defer leave()
		if err := l.Wait(leaving); !errors.Is(err, redlatch.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait that ended: %v", err)
		}
		for i, want := range []int64{0, 300} {
			check.Must(0, []redlatch.Latch{*far, *l}[i].CountDown(ctx))
			time.Sleep(time.Second)
			if got := passed.Load(); got != want {
				t.Errorf("%d passed, want %d", got, want)
			}
		}
		check.Must(l.TrySetCount(ctx, 1))
		wait(10)
		time.Sleep(time.Minute)
		if got := passed.Load(); got != 300 {
			t.Errorf("%d passed a latch that was closed again", got-300)
		}
		check.Must(0, far.CountDown(ctx))
		synctest.Wait()
		all.Wait()
		check.NothingIn(t, []*redlatch.Client{s.Client})
	})
}

// In a cluster Redisson puts the channel of a latch with braces in its name into another slot.
func TestALatchInAClusterHasNoBraces(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	client := fixture.Open(t, "redis+cluster://"+strings.Join(c.Addrs(), ","), redlatch.Config{})
	if _, err := client.Latch("{"+redistest.Name(t)+"}").TrySetCount(t.Context(), 1); !errors.Is(err, redlatch.ErrInvalidName) {
		t.Errorf("a latch with braces: %v", err)
	}
	l, sem, permits := client.Latch(redistest.Name(t)), client.Semaphore("{"+redistest.Name(t)+"}s"), client.PermitSemaphore("{"+redistest.Name(t)+"}p")
	check.Must(l.TrySetCount(t.Context(), 1))
	check.Must(sem.TrySetPermits(t.Context(), 1))
	check.Must(permits.TrySetPermits(t.Context(), 1))
	for range 2 {
		h := check.Must(permits.Acquire(t.Context()))
		check.Must(0, errors.Join(sem.Acquire(t.Context(), 1), sem.Release(t.Context(), 1), h.Unlock(t.Context())))
	}
	done := make(chan error, 1)
	go func() { done <- l.Wait(t.Context()) }()
	check.Must(0, l.CountDown(t.Context()))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package redlatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// What ends work on semaphores and latches, while a client ends or its server is cut off.

// Goal: a worker that has a permit without a lease when Shutdown begins can put it back.
func TestShutdownWaitsForPermitsWithoutALease(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem, latch := s.limited(), s.client.Semaphore("job"), s.client.Latch("open")
		must(sem.TrySetPermits(ctx, 5))
		must(latch.TrySetCount(ctx, 1))
		must(0, sem.Acquire(ctx, 2))
		if !must(sem.TryAcquire(ctx, 1)) {
			t.Fatal("no permit")
		}
		done := shutting(t, s.client, ctx)
		time.Sleep(10 * time.Second)
		is(t, "an acquisition", sem.Acquire(ctx, 1), redlatch.ErrClosed)
		must(0, errors.Join(sem.Release(ctx, 2), latch.CountDown(ctx)))
		time.Sleep(10 * time.Second)
		if len(done) > 0 {
			t.Error("Shutdown did not wait for the last permit:", <-done)
		}
		must(0, sem.Release(ctx, 1))
		synctest.Wait()
		select {
		case err := <-done:
			is(t, "Shutdown", err, nil)
		default:
			t.Error("Shutdown waits, and nothing is held")
		}
		far := s.stranger()
		if n := must(far.Semaphore("job").Available(ctx)); n != 5 {
			t.Errorf("%d of 5 permits are available", n)
		}
		must(0, far.Latch("open").Wait(ctx))
	})
}

// Goal: permits that others put back are not waited for, and permits of others that are put back here
// count for no other semaphore.
func TestShutdownWaitsForItsOwnPermitsAlone(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem, other := s.limited(), s.client.Semaphore("job"), s.client.Semaphore("other")
		must(sem.TrySetPermits(ctx, 5))
		must(0, sem.Acquire(ctx, 1))
		must(0, other.Release(ctx, 7))
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		is(t, "Shutdown with a permit", s.client.Shutdown(limited), context.DeadlineExceeded)
	})
}

// Goal: what ends work is answered in the end, once, also if the server was cut off for longer than the release
// timeout, and also during Shutdown.
func TestAReleaseOutlastsACut(t *testing.T) {
	for name, ends := range map[string]bool{"open": false, "during Shutdown": true} {
		t.Run(name, func(t *testing.T) {
			for _, lost := range []fate{isNotSent, isLost, losesAnswer} {
				story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
					ctx, sem, latch := s.limited(), s.client.Semaphore("job"), s.client.Latch("open")
					must(sem.TrySetPermits(ctx, 5))
					must(latch.TrySetCount(ctx, 3))
					must(0, errors.Join(sem.Acquire(ctx, 2), sem.Release(ctx, 1), latch.CountDown(ctx))) // the server knows the scripts
					s.driver.spoil(func([]string) fate { return lost })
					is(t, "Release", sem.Release(ctx, 1), redlatch.ErrUnknownOutcome)
					is(t, "CountDown", latch.CountDown(ctx), redlatch.ErrUnknownOutcome)
					var done <-chan error
					if ends {
						done = shutting(t, s.client, ctx)
					}
					time.Sleep(30 * time.Second)
					s.driver.spoil(nil)
					time.Sleep(5 * time.Second)
					far := s.stranger()
					if n := must(far.Semaphore("job").Available(ctx)); n != 5 {
						t.Errorf("%v: %d of 5 permits are available", lost, n)
					}
					if n := must(far.Latch("open").Count(ctx)); n != 1 {
						t.Errorf("%v: the count is %d, want 1", lost, n)
					}
					if ends {
						is(t, "Shutdown", <-done, nil)
					}
				})
			}
		})
	}
}

package counters_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What ends work on semaphores and latches, while a client ends or its server is cut off.

// Goal: a worker that has a permit without a lease when Shutdown begins can put it back.
func TestShutdownWaitsForPermitsWithoutALease(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, sem, latch := s.Limited(), s.Client.Semaphore("job"), s.Client.Latch("open")
		check.Must(sem.TrySetPermits(ctx, 5))
		check.Must(latch.TrySetCount(ctx, 1))
		check.Must(0, sem.Acquire(ctx, 2))
		if !check.Must(sem.TryAcquire(ctx, 1)) {
			t.Fatal("no permit")
		}
		done := fixture.Shutting(t, s.Client, ctx)
		time.Sleep(10 * time.Second)
		check.Is(t, "an acquisition", sem.Acquire(ctx, 1), redlatch.ErrClosed)
		check.Must(0, errors.Join(sem.Release(ctx, 2), latch.CountDown(ctx)))
		time.Sleep(10 * time.Second)
		if len(done) > 0 {
			t.Error("Shutdown did not wait for the last permit:", <-done)
		}
		check.Must(0, sem.Release(ctx, 1))
		synctest.Wait()
		select {
		case err := <-done:
			check.Is(t, "Shutdown", err, nil)
		default:
			t.Error("Shutdown waits, and nothing is held")
		}
		far := s.Stranger()
		if n := check.Must(far.Semaphore("job").Available(ctx)); n != 5 {
			t.Errorf("%d of 5 permits are available", n)
		}
		check.Must(0, far.Latch("open").Wait(ctx))
	})
}

// Goal: permits that others put back are not waited for, and permits of others that are put back here
// count for no other semaphore.
func TestShutdownWaitsForItsOwnPermitsAlone(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, sem, other := s.Limited(), s.Client.Semaphore("job"), s.Client.Semaphore("other")
		check.Must(sem.TrySetPermits(ctx, 5))
		check.Must(0, sem.Acquire(ctx, 1))
		check.Must(0, other.Release(ctx, 7))
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		check.Is(t, "Shutdown with a permit", s.Client.Shutdown(limited), context.DeadlineExceeded)
	})
}

// Goal: what ends work is answered in the end, once, also if the server was cut off, or took no writes, for longer than
// the release timeout, and also during Shutdown.
func TestAReleaseOutlastsACut(t *testing.T) {
	for name, ends := range map[string]bool{"open": false, "during Shutdown": true} {
		t.Run(name, func(t *testing.T) {
			for what, around := range map[string]stage.Around{
				"not sent":    stage.Spoiling(func([]string) stage.Fate { return stage.NotSent }),
				"lost":        stage.Spoiling(func([]string) stage.Fate { return stage.Lost }),
				"answer lost": stage.Spoiling(func([]string) stage.Fate { return stage.AnswerLost }),
				"refused":     stage.Refusing("MISCONF Errors writing to the AOF file", func(driver.Command) bool { return true }),
			} {
				stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					ctx, sem, latch := s.Limited(), s.Client.Semaphore("job"), s.Client.Latch("open")
					check.Must(sem.TrySetPermits(ctx, 5))
					check.Must(latch.TrySetCount(ctx, 3))
					check.Must(0, errors.Join(sem.Acquire(ctx, 2), sem.Release(ctx, 1), latch.CountDown(ctx))) // the server knows the scripts
					s.Driver.Set(around)
					check.Is(t, "Release", sem.Release(ctx, 1), redlatch.ErrUnknownOutcome)
					check.Is(t, "CountDown", latch.CountDown(ctx), redlatch.ErrUnknownOutcome)
					var done <-chan error
					if ends {
						done = fixture.Shutting(t, s.Client, ctx)
					}
					time.Sleep(30 * time.Second)
					s.Driver.Set(nil)
					time.Sleep(5 * time.Second)
					far := s.Stranger()
					if n := check.Must(far.Semaphore("job").Available(ctx)); n != 5 {
						t.Errorf("%s: %d of 5 permits are available", what, n)
					}
					if n := check.Must(far.Latch("open").Count(ctx)); n != 1 {
						t.Errorf("%s: the count is %d, want 1", what, n)
					}
					if ends {
						check.Is(t, "Shutdown", <-done, nil)
					}
				})
			}
		})
	}
}

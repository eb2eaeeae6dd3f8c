package redlatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// What can go wrong between two requests on semaphores and latches.

// A process that adds permits wakes its own waiters.
func TestAddedPermitsWakeLocalWaiters(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem := s.limited(), permitsOf(t, s.client, "job", 0)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				limited, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if _, err := sem.Acquire(limited); err != nil {
					t.Error("Acquire:", err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		began := time.Now()
		if err := sem.AddPermits(ctx, 3); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		within(t, "the wait for added permits", time.Since(began), 0, 100*time.Millisecond)
	})
}

// A process that was stopped for longer than a record lives does not say that nothing was taken.
func TestAPauseLongerThanARecordLeavesTheOutcomeUnknown(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem := s.limited(), s.client.Semaphore("job")
		must(sem.TrySetPermits(ctx, 5))
		must(sem.TryAcquire(ctx, 1)) // the server knows the script
		net, stopped := s.tap(), false
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			replies := send(commands...)
			if !stopped {
				stopped = true
				time.Sleep(2 * time.Minute)
				return failAll(commands, errCut)
			}
			return replies
		})
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := sem.Acquire(limited, 2)
		if left := must(sem.Available(ctx)); left != 4 && !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Errorf("%d of 4 permits are left, and the error is %v", left, err)
		}
	})
}

// A server that stands still carries out an acquisition and its cancellation when it goes on: also if
// their connection is closed by then, and if their process has ended. It cannot ask for a script.
func TestACancellationIsCarriedOutInTheEnd(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		server := redistest.Start(t)
		d := must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
		defer d.Close()
		c := must(redlatch.New(d, redlatch.Config{ReleaseTimeout: 300 * time.Millisecond, CommandTimeout: 300 * time.Millisecond}))
		far := open(t, server.URL(), redlatch.Config{})
		ctx, sem := t.Context(), c.Semaphore("job")
		must(sem.TrySetPermits(ctx, 5))
		must(sem.TryAcquire(ctx, 1)) // the server knows the script
		server.Freeze()
		limited, cancel := context.WithTimeout(ctx, map[bool]time.Duration{true: 50 * time.Millisecond, false: time.Hour}[ends])
		_, err := sem.TryAcquire(limited, 2)
		is(t, "the outcome", err, redlatch.ErrUnknownOutcome)
		cancel()
		if ends {
			must(0, c.Close(ctx))
			d.Close()
		} else {
			time.Sleep(time.Second) // longer than one cancellation may take
		}
		server.Thaw()
		redistest.Eventually(t, 5*time.Second, func() bool { return must(far.Semaphore("job").Available(ctx)) == 4 }, "the permits are back")
		must(0, c.Close(ctx))
	}
}

// A message of another process that arrives while a release is under way is not lost.
func TestAMessageDuringAReleaseIsHeard(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage) {
		ctx, far := s.limited(), s.stranger().PermitSemaphore("job")
		net := s.tap()
		sem := permitsOf(t, s.client, "job", 2)
		must(0, must(sem.Acquire(ctx)).Unlock(ctx)) // the server knows the scripts
		own, theirs := must(sem.Acquire(ctx)), must(far.Acquire(ctx, redlatch.WithLease(time.Hour)))
		must(0, far.AddPermits(ctx, -1)) // two are in use of one
		entered := make(chan *redlatch.Hold, 1)
		go func() { entered <- must(sem.Acquire(ctx, redlatch.WithLease(time.Hour))) }()
		time.Sleep(time.Second)
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			replies := send(commands...)
			if len(commands) > 1 {
				net.set(nil)
				must(0, theirs.Unlock(ctx))
				time.Sleep(10 * time.Millisecond) // the replies are slower than the message
			}
			return replies
		})
		must(0, own.Unlock(ctx))
		select {
		case <-entered:
		case <-time.After(10 * time.Second):
			t.Error("a permit is available, and the waiter sleeps")
			<-entered
		}
	})
}

// Somebody who uses a semaphore in both ways wakes all who wait for it.
func TestOneNameForBothSemaphores(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage) {
		ctx, sem, plain := s.limited(), permitsOf(t, s.client, "job", 0), s.client.Semaphore("job")
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		errs := make(chan error, 2)
		go func() { errs <- second(sem.Acquire(limited)) }()
		go func() { errs <- plain.Acquire(limited, 1) }()
		time.Sleep(time.Second)
		must(0, plain.Release(ctx, 2))
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Error("a permit is available, and a waiter sleeps:", err)
		}
	})
}

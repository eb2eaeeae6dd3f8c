package counters_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What can go wrong between two requests on semaphores and latches.

// A server that stands still carries out an acquisition and its cancellation when it goes on: also if
// their connection is closed by then, and if their process has ended. It cannot ask for a script.
func TestACancellationIsCarriedOutInTheEnd(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} {
		server := redistest.Start(t)
		d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr()}))
		defer d.Close()
		net := &stage.Tap{Driver: d}
		c := check.Must(redlatch.New(net, redlatch.Config{ReleaseTimeout: 300 * time.Millisecond, CommandTimeout: 300 * time.Millisecond}))
		far := fixture.Open(t, server.URL(), redlatch.Config{})
		ctx, sem := t.Context(), c.Semaphore("job")
		check.Must(far.Semaphore("job").TrySetPermits(ctx, 5))
		check.Must(far.Semaphore("job").TryAcquire(ctx, 1)) // the server knows the script
		server.Freeze()
		limited, cancel := context.WithTimeout(ctx, map[bool]time.Duration{true: 200 * time.Millisecond, false: time.Hour}[ends])
		_, err := sem.TryAcquire(limited, 2)
		check.Is(t, "the outcome", err, redlatch.ErrUnknownOutcome)
		cancel()
		if ends {
			check.Must(0, c.Close(ctx))
			d.Close()
		} else {
			sent := net.Scripts.Load()
			redistest.Eventually(t, 20*time.Second, func() bool { return net.Scripts.Load() >= sent+2 }, "a cancellation is repeated")
		}
		server.Thaw()
		redistest.Eventually(t, 5*time.Second, func() bool { return check.Must(far.Semaphore("job").Available(ctx)) == 4 }, "the permits are back")
		check.Must(0, c.Close(ctx))
	}
}

// A message of another process that arrives while a release is under way is not lost.
func TestAMessageDuringAReleaseIsHeard(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		ctx, far := s.Limited(), s.Stranger().PermitSemaphore("job")
		net := s.Tap()
		sem := fixture.PermitsOf(t, s.Client, "job", 2)
		check.Must(0, check.Must(sem.Acquire(ctx)).Unlock(ctx)) // the server knows the scripts
		own, theirs := check.Must(sem.Acquire(ctx)), check.Must(far.Acquire(ctx, redlatch.WithLease(time.Hour)))
		check.Must(0, far.AddPermits(ctx, -1)) // two are in use of one
		entered := make(chan *redlatch.Hold, 1)
		go func() { entered <- check.Must(sem.Acquire(ctx, redlatch.WithLease(time.Hour))) }()
		time.Sleep(time.Second)
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(commands...)
			if len(commands) > 1 {
				net.Set(nil)
				check.Must(0, theirs.Unlock(ctx))
				time.Sleep(10 * time.Millisecond) // the replies are slower than the message
			}
			return replies
		})
		check.Must(0, own.Unlock(ctx))
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
	stage.Story(t, redlatch.Config{PollCap: time.Hour / 2}, func(t *testing.T, s *stage.Stage) {
		ctx, sem, plain := s.Limited(), fixture.PermitsOf(t, s.Client, "job", 0), s.Client.Semaphore("job")
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		errs := make(chan error, 2)
		go func() { errs <- check.ErrOf(sem.Acquire(limited)) }()
		go func() { errs <- plain.Acquire(limited, 1) }()
		time.Sleep(time.Second)
		check.Must(0, plain.Release(ctx, 2))
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Error("a permit is available, and a waiter sleeps:", err)
		}
	})
}

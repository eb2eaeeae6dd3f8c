package locks_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Locks whose names differ by braces share a channel, because Redisson's names are so. They
// share nothing else.

// Goal: a waiter for the free one does not stand behind those for the other.
func TestAWaiterDoesNotStandBehindThoseOfALockWithItsChannel(t *testing.T) {
	for kind, of := range map[string]func(c *redlatch.Client, name string) redlatch.Lock{"mutex": stage.MutexOf, "write": stage.WriteOf} {
		t.Run(kind, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx := context.WithoutCancel(t.Context())
				other := s.Other(redlatch.Config{})
				held := check.Must(of(other, "job").Lock(ctx))
				waiting := make(chan *redlatch.Hold)
				go func() { waiting <- check.Must(of(s.Client, "job").Lock(ctx)) }()
				time.Sleep(time.Second)

				began := time.Now()
				braced, err := of(s.Client, "{job}").Lock(ctx, redlatch.WithWait(time.Minute))
				if err != nil {
					t.Fatal("the free one:", err)
				}
				check.Within(t, "the wait for the free one", time.Since(began), 0, time.Second)

				// Each of them is told by the channel when its own is free.
				second := make(chan *redlatch.Hold)
				go func() { second <- check.Must(of(other, "{job}").Lock(ctx)) }()
				time.Sleep(time.Second)
				for what, one := range map[string]struct {
					from *redlatch.Hold
					to   chan *redlatch.Hold
				}{"the braced one": {braced, second}, "the other": {held, waiting}} {
					began = time.Now()
					_ = one.from.Unlock(ctx)
					h := <-one.to
					check.Within(t, "the hand-over of "+what, time.Since(began), 0, 500*time.Millisecond)
					_ = h.Unlock(ctx)
				}
				time.Sleep(3 * time.Second)
				if n := s.Client.Stats().Subscriptions + other.Stats().Subscriptions; n != 0 {
					t.Errorf("%d subscriptions are left", n)
				}
			})
		})
	}
}

// Goal: a channel stays subscribed while one of its locks is waited for. Method: the waiters
// of the other come and go.
func TestAWaiterIsToldAlthoughThoseOfALockWithItsChannelHaveLeft(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, other := context.WithoutCancel(t.Context()), s.Other(redlatch.Config{})
		holds := []*redlatch.Hold{check.Must(other.Mutex("job").Lock(ctx)), check.Must(other.Mutex("{job}").Lock(ctx))}
		for i, name := range []string{"job", "{job}"} {
			waiting := make(chan *redlatch.Hold)
			go func() { waiting <- check.Must(s.Client.Mutex(name).Lock(ctx)) }()
			synctest.Wait()
			_, err := s.Client.Mutex([]string{"{job}", "job"}[i]).Lock(ctx, redlatch.WithWait(100*time.Millisecond))
			check.Is(t, "the other", err, redlatch.ErrNotAcquired)
			time.Sleep(2500 * time.Millisecond) // its subscription would have ended by now
			if n := s.Client.Stats().Subscriptions; n != 1 {
				t.Errorf("%d subscriptions, want one", n)
			}
			began := time.Now()
			_ = holds[i].Unlock(ctx)
			h := <-waiting
			check.Within(t, "the hand-over", time.Since(began), 0, 100*time.Millisecond)
			defer h.Unlock(ctx)
		}
	})
}

func TestAnOwnerTakesALockInsideAnotherThatSharesItsChannel(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := s.Client.WithOwner(context.WithoutCancel(t.Context()))
		outer := check.Must(s.Client.Mutex("x").Lock(ctx))
		inner := check.Must(s.Client.Mutex("{x}").Lock(ctx))
		if got := fixture.Locked(t, s.Client, "x", "{x}"); len(got) != 2 {
			t.Errorf("only %v are locked", got)
		}
		if count, _ := check.Must(s.Client.Mutex("x").Status(ctx)).HeldBy(outer.Owner()); count != 1 {
			t.Errorf("the outer lock is held %d times", count)
		}
		_ = inner.Unlock(ctx)
		_ = outer.Unlock(ctx)

		h := check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "x", "{x}")...)).Lock(ctx))
		if got := fixture.Locked(t, s.Client, "x", "{x}"); len(got) != 2 {
			t.Errorf("of a Multi only %v are locked", got)
		}
		below, err := s.Client.Mutex("{y}").TryLock(h.Context())
		if errors.Is(err, redlatch.ErrReentry) {
			t.Error("another lock:", err)
		}
		_ = below.Unlock(ctx)
		_ = h.Unlock(ctx)

		plain := check.Must(s.Client.Mutex("x").Lock(context.WithoutCancel(t.Context())))
		braced, err := s.Client.Mutex("{x}").TryLock(plain.Context())
		if err != nil {
			t.Fatal("a lock below the hold of another:", err)
		}
		_ = braced.Unlock(ctx)
		_ = plain.Unlock(ctx)
	})
}

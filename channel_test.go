package redlatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// Locks whose names differ by braces share a channel, because Redisson's names are so. They
// share nothing else.

// Goal: a waiter for the free one does not stand behind those for the other.
func TestAWaiterDoesNotStandBehindThoseOfALockWithItsChannel(t *testing.T) {
	for kind, of := range map[string]func(c *redlatch.Client, name string) redlatch.Lock{"mutex": mutexOf, "write": writeOf} {
		t.Run(kind, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx := context.WithoutCancel(t.Context())
				other := s.other(redlatch.Config{})
				held := must(of(other, "job").Lock(ctx))
				waiting := make(chan *redlatch.Hold)
				go func() { waiting <- must(of(s.client, "job").Lock(ctx)) }()
				time.Sleep(time.Second)

				began := time.Now()
				braced, err := of(s.client, "{job}").Lock(ctx, redlatch.WithWait(time.Minute))
				if err != nil {
					t.Fatal("the free one:", err)
				}
				within(t, "the wait for the free one", time.Since(began), 0, time.Second)

				// Each of them is told by the channel when its own is free.
				second := make(chan *redlatch.Hold)
				go func() { second <- must(of(other, "{job}").Lock(ctx)) }()
				time.Sleep(time.Second)
				for what, one := range map[string]struct {
					from *redlatch.Hold
					to   chan *redlatch.Hold
				}{"the braced one": {braced, second}, "the other": {held, waiting}} {
					began = time.Now()
					_ = one.from.Unlock(ctx)
					h := <-one.to
					within(t, "the hand-over of "+what, time.Since(began), 0, 500*time.Millisecond)
					_ = h.Unlock(ctx)
				}
				time.Sleep(3 * time.Second)
				if n := s.client.Stats().Subscriptions + other.Stats().Subscriptions; n != 0 {
					t.Errorf("%d subscriptions are left", n)
				}
			})
		})
	}
}

// Goal: a channel stays subscribed while one of its locks is waited for. Method: the waiters
// of the other come and go.
func TestAWaiterIsToldAlthoughThoseOfALockWithItsChannelHaveLeft(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, other := context.WithoutCancel(t.Context()), s.other(redlatch.Config{})
		holds := []*redlatch.Hold{must(other.Mutex("job").Lock(ctx)), must(other.Mutex("{job}").Lock(ctx))}
		for i, name := range []string{"job", "{job}"} {
			waiting := make(chan *redlatch.Hold)
			go func() { waiting <- must(s.client.Mutex(name).Lock(ctx)) }()
			synctest.Wait()
			_, err := s.client.Mutex([]string{"{job}", "job"}[i]).Lock(ctx, redlatch.WithWait(100*time.Millisecond))
			is(t, "the other", err, redlatch.ErrNotAcquired)
			time.Sleep(2500 * time.Millisecond) // its subscription would have ended by now
			if n := s.client.Stats().Subscriptions; n != 1 {
				t.Errorf("%d subscriptions, want one", n)
			}
			began := time.Now()
			_ = holds[i].Unlock(ctx)
			h := <-waiting
			within(t, "the hand-over", time.Since(began), 0, 100*time.Millisecond)
			defer h.Unlock(ctx)
		}
	})
}

func TestAnOwnerTakesALockInsideAnotherThatSharesItsChannel(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx := s.client.WithOwner(context.WithoutCancel(t.Context()))
		outer := must(s.client.Mutex("x").Lock(ctx))
		inner := must(s.client.Mutex("{x}").Lock(ctx))
		if got := locked(t, s.client, "x", "{x}"); len(got) != 2 {
			t.Errorf("only %v are locked", got)
		}
		if count, _ := must(s.client.Mutex("x").Status(ctx)).HeldBy(outer.Owner()); count != 1 {
			t.Errorf("the outer lock is held %d times", count)
		}
		_ = inner.Unlock(ctx)
		_ = outer.Unlock(ctx)

		h := must(redlatch.NewMulti(mutexes(s.client, "x", "{x}")...).Lock(ctx))
		if got := locked(t, s.client, "x", "{x}"); len(got) != 2 {
			t.Errorf("of a Multi only %v are locked", got)
		}
		below, err := s.client.Mutex("{y}").TryLock(h.Context())
		if errors.Is(err, redlatch.ErrReentry) {
			t.Error("another lock:", err)
		}
		_ = below.Unlock(ctx)
		_ = h.Unlock(ctx)

		plain := must(s.client.Mutex("x").Lock(context.WithoutCancel(t.Context())))
		braced, err := s.client.Mutex("{x}").TryLock(plain.Context())
		if err != nil {
			t.Fatal("a lock below the hold of another:", err)
		}
		_ = braced.Unlock(ctx)
		_ = plain.Unlock(ctx)
	})
}

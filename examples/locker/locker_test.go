package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// fixture is a locker and a lock of one test.
func fixture(t *testing.T, redis string) (Locker, string) {
	t.Helper()
	client, err := redlatch.Open(t.Context(), redis, redlatch.Config{LeaseTime: 400 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(context.Background()) })
	return latchLocker{client}, redistest.Name(t)
}

// locked fails unless the lock is held, or is not.
func locked(t *testing.T, l Locker, name string, want bool) {
	t.Helper()
	if got, err := l.IsLocked(t.Context(), name); err != nil || got != want {
		t.Errorf("is locked: %v, %v, want %v", got, err, want)
	}
}

// unlock fails unless the release matches want; nil is success.
func unlock(t *testing.T, h Held, want error) {
	t.Helper()
	if err := h.Unlock(t.Context()); !errors.Is(err, want) {
		t.Errorf("unlock: %v, want %v", err, want)
	}
}

func TestLockerHoldsWhatItTakesUntilUnlock(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		l, name := fixture(t, redis)
		for verb, take := range map[string]func(context.Context, string) (Held, error){"lock": l.Lock, "try": l.TryLock} {
			h, err := take(t.Context(), name)
			if err != nil {
				t.Fatal(verb, err)
			}
			locked(t, l, name, true)
			if other, err := l.TryLock(t.Context(), name); other != nil || !errors.Is(err, redlatch.ErrNotAcquired) {
				t.Errorf("%s: meanwhile another got %v, %v", verb, other, err)
			}
			// Longer than the lease of the watchdog.
			if other, err := l.TryLockFor(t.Context(), name, 600*time.Millisecond, time.Second); other != nil || !errors.Is(err, redlatch.ErrNotAcquired) {
				t.Errorf("%s: meanwhile another that waits got %v, %v", verb, other, err)
			}
			unlock(t, h, nil)
			locked(t, l, name, false)
		}
	})
}

func TestLockerWithALeaseEndsByItself(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		l, name := fixture(t, redis)
		first, err := l.LockFor(t.Context(), name, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		second, err := l.TryLockFor(t.Context(), name, 10*time.Second, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if first.Context().Err() == nil {
			t.Error("the first goes on though the second holds the lock")
		}
		unlock(t, first, redlatch.ErrLost)
		<-second.Context().Done()
		if cause := context.Cause(second.Context()); !errors.Is(cause, redlatch.ErrLost) {
			t.Errorf("the second ended because of %v", cause)
		}
		unlock(t, second, redlatch.ErrLost)
		redistest.Eventually(t, 10*time.Second, func() bool { is, err := l.IsLocked(t.Context(), name); return err == nil && !is }, "the lock is free")
	})
}

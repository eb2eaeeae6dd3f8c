package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// Locker is what the handlers need of a lock. A test injects another implementation. After
// an error nothing is held. After redlatch.ErrUnknownOutcome the lock may exist in Redis
// for one more lease.
type Locker interface {
	// Lock waits for as long as ctx lasts. The lock is renewed until Unlock.
	Lock(ctx context.Context, name string) (Held, error)
	// LockFor waits like Lock. The lock ends by itself after the lease.
	LockFor(ctx context.Context, name string, lease time.Duration) (Held, error)
	// TryLock does not wait. The lock is renewed until Unlock.
	TryLock(ctx context.Context, name string) (Held, error)
	// TryLockFor waits for a time. The lock ends by itself after the lease.
	TryLockFor(ctx context.Context, name string, wait, lease time.Duration) (Held, error)
	// IsLocked reports whether the lock is held.
	IsLocked(ctx context.Context, name string) (bool, error)
	// Status is the state of the lock in Redis.
	Status(ctx context.Context, name string) (redlatch.Status, error)
}

// Held is an acquired lock. Unlock is here and not in Locker, so that only a holder can
// release.
type Held interface {
	// Owner is the holder's name in Redis.
	Owner() string
	// Context ends when the lock is lost. Its cause then says so.
	Context() context.Context
	// Unlock releases the lock. The error is redlatch.ErrLost, for example, if the lock had
	// ended before.
	Unlock(ctx context.Context) error
}

// latchLocker is a Locker that uses redlatch. It has no state of its own, so it can be
// copied. It returns the errors of redlatch unchanged, so that callers can compare them.
type latchLocker struct{ client *redlatch.Client }

func (l latchLocker) Lock(ctx context.Context, name string) (Held, error) {
	return held(l.client.Mutex(name).Lock(ctx))
}

func (l latchLocker) LockFor(ctx context.Context, name string, lease time.Duration) (Held, error) {
	return held(l.client.Mutex(name).Lock(ctx, redlatch.WithLease(lease)))
}

func (l latchLocker) TryLock(ctx context.Context, name string) (Held, error) {
	return held(l.client.Mutex(name).TryLock(ctx))
}

func (l latchLocker) TryLockFor(ctx context.Context, name string, wait, lease time.Duration) (Held, error) {
	return held(l.client.Mutex(name).TryLock(ctx, redlatch.WithWait(wait), redlatch.WithLease(lease)))
}

func (l latchLocker) IsLocked(ctx context.Context, name string) (bool, error) {
	status, err := l.client.Mutex(name).Status(ctx)
	return status.Locked, err
}

func (l latchLocker) Status(ctx context.Context, name string) (redlatch.Status, error) {
	return l.client.Mutex(name).Status(ctx)
}

// held returns a nil Held after an error, and not one that contains a nil *redlatch.Hold.
func held(h *redlatch.Hold, err error) (Held, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

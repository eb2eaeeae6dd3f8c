package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// latchLocker is a Locker and an Inspector that use redlatch. It has no state of its own,
// so it can be copied. It returns the errors of redlatch unchanged, so that callers can
// compare them.
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

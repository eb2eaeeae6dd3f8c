package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// latchLocker is Locker and Inspector over redlatch. It has no state of its own, so
// that any number of copies may be injected. Errors are redlatch's: names of its own
// would only hide what redlatch can tell apart.
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

// held keeps a nil *redlatch.Hold from becoming a Held that is not nil.
func held(h *redlatch.Hold, err error) (Held, error) {
	if err != nil {
		return nil, err
	}
	return h, nil
}

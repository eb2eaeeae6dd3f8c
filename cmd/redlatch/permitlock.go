package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
)

// permitLock is the lock of one permit. While it waits, it makes the semaphore again if Redis has lost it: all
// commands may be waiting then, and none would begin.
type permitLock struct {
	*redlatch.PermitSemaphore
	permits int
	agree   func(ctx context.Context) error // makes the semaphore, or reports that it has another number of permits
	agreed  bool
}

// remake is how often a wait makes the semaphore, if there is none.
const remake = 5 * time.Second

func (l *permitLock) Lock(ctx context.Context, options ...redlatch.LockOption) (*redlatch.Hold, error) {
	if !l.agreed {
		if err := l.agree(ctx); err != nil {
			return nil, failed(err)
		}
		l.agreed = true
	}
	defer beside(ctx, func(ctx context.Context) {
		for pause.For(ctx, remake) == nil {
			_, _ = l.TrySetPermits(ctx, l.permits) // the wait reports what is wrong
		}
	})()
	return l.Acquire(ctx, options...)
}

func (l *permitLock) TryLock(ctx context.Context, options ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.TryAcquire(ctx, options...)
}

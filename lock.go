package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
)

// Lock is what every kind of lock can do.
type Lock interface {
	// Name is the name the lock was made with.
	Name() string

	// Lock waits until the lock is held, ctx ends, or the time of WithWait has
	// passed.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)

	// TryLock takes the lock if it is free, and does not wait. With WithWait it does
	// what Lock does.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
}

// Exclusive reports whether l has one holder at a time. Mutex, FairMutex, RWMutex, Multi and Quorum state it by a
// method Exclusive. The read side of an RWMutex and a PermitSemaphore have several holders, and a Multi or Quorum is
// exclusive if its members are. A Lock of your own without that method counts as not exclusive: embed the lock
// that it wraps, or write the method.
//
// What needs one holder, such as leader.Run and schedule.Run, refuses any other lock with a *ConfigError.
func Exclusive(l Lock) bool {
	states, does := l.(interface{ Exclusive() bool })
	return does && states.Exclusive()
}

// forever is the wait of Lock, which ctx alone bounds.
const forever = lock.Forever

// acquire takes a single lock of that kind.
func acquire(ctx context.Context, kind lockKinds, r *lock.Ref, wait time.Duration, opts []LockOption) (*Hold, error) {
	o := r.Manager().Plain(wait)
	if len(opts) > 0 {
		var err error
		if o, err = lockOptions(r.Manager(), kind, 0, wait, opts); err != nil {
			return nil, err
		}
	}
	h, err := r.Acquire(ctx, o)
	return (*Hold)(h), err
}

// forceUnlockIf frees a single lock if owner holds it.
func forceUnlockIf(ctx context.Context, r *lock.Ref, owner string) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: "owner", Reason: "it is empty; ForceUnlock frees a lock whoever holds it"}
	}
	return r.ForceUnlock(ctx, owner)
}

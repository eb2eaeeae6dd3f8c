package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/lock"
)

// Mutex is an exclusive lock: at most one owner holds it. It is the lock that
// Redisson calls RLock, and shares it with Java processes.
//
// A Mutex holds no state: any number of them may stand for one name, and each may
// be used by any number of goroutines. What was acquired is the Hold.
type Mutex struct {
	client *Client
	ref    lock.Ref
}

// Mutex returns the mutex called name. It does not touch Redis. A name that cannot
// be one is reported by every verb as ErrInvalidName.
func (c *Client) Mutex(name string) *Mutex {
	return &Mutex{c, c.locks.Mutex(name)}
}

// Name is the name the mutex was made with.
func (m *Mutex) Name() string { return m.ref.Name }

// Lock waits until the mutex is held, ctx ends, or the time of WithWait has passed.
//
// In Redis the hash named after the lock then has one field, the hold's owner, with
// the count of its holds, and the lease as TTL. The lease is renewed until Unlock,
// unless WithLease fixed it. Waiters of one process are served in the order in
// which they came; between processes there is no order.
//
// Errors: ErrNotAcquired (joined with ctx's error if that ended the wait) after
// which nothing is held; ErrUnknownOutcome, after which at most one lease may pass
// until the lock frees; ErrReentry; ErrLost, when an outer hold of the same owner
// turned out to be gone; ErrUnsupported, when that owner has 65,536 holds;
// ErrNotReplicated (WithReplicas); ErrWrongType; ErrInvalidName; ErrClosed;
// *ConfigError; and errors of the network and the server, after which nothing is held.
//
// Source: RLock.lock and tryLock of Redisson; docs/wire-format.md, "Mutex".
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquire(ctx, &m.ref, forever, opts)
}

// TryLock takes the mutex if it is free, and does not wait. It asks Redis once and
// may overtake waiters. For errors and effects see Lock.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquire(ctx, &m.ref, 0, opts)
}

// ForceUnlock frees the mutex, whoever holds it, and wakes its waiters. It reports
// whether it was held. It is for operators: the holder goes on working until its
// next renewal tells it, after a third of its lease at the latest.
//
// It blocks for one round trip, bounded by ctx and Config.CommandTimeout. Errors:
// ErrWrongType, if the key is something else, or may be: a key without expiry, or whose
// owner does not begin with a UUID, is left alone (ForceUnlockIf frees it);
// ErrUnknownOutcome; ErrInvalidName; ErrClosed. Source: RLock.forceUnlock of Redisson; docs/wire-format.md, "Mutex".
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.ref.ForceUnlock(ctx, "")
}

// ForceUnlockIf is ForceUnlock for a lock that owner holds, as Status names it, whatever
// its implementation calls an owner. If somebody else holds the mutex by then, or nobody
// does, it changes nothing and reports false: between looking at a lock and forcing it, its
// holder may change.
//
// Errors: those of ForceUnlock, and a *ConfigError for an empty owner.
func (m *Mutex) ForceUnlockIf(ctx context.Context, owner string) (bool, error) {
	return forceUnlockIf(ctx, &m.ref, owner)
}

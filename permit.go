package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/counter"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/operator"
)

// PermitSemaphore has a number of permits. Each has a lease, as a lock has. The client renews the permit while its
// Hold is held. If the holder dies, the permit is available after the lease. It is the semaphore that Redisson calls
// RPermitExpirableSemaphore, and shares it with Java processes.
//
// The permits in use are never more than TrySetPermits and AddPermits have made, provided that all
// clocks run at about the same rate. Java clients compare expiries with their own clock, so their clocks
// must also show about the same time as that of the server.
//
// Two holders that each wait for a second permit can wait for each other. Bound such waits by WithWait.
type PermitSemaphore struct {
	client *Client
	ref    lock.Ref
	count  counter.Semaphore
}

// PermitSemaphore returns the semaphore called name. It does not touch Redis. Its methods report a
// name that is not valid as ErrInvalidName.
func (c *Client) PermitSemaphore(name string) *PermitSemaphore {
	return &PermitSemaphore{c, c.locks.Permits(name), c.counters.Permits(name)}
}

// Name is the name the semaphore was made with.
func (s *PermitSemaphore) Name() string { return s.ref.Name }

// TrySetPermits makes the semaphore with n permits, from 0 to 2^31-1. It reports false, and changes
// nothing, if there is one already. See Semaphore.TrySetPermits.
func (s *PermitSemaphore) TrySetPermits(ctx context.Context, n int) (bool, error) {
	return trySetPermits(ctx, s.count, n)
}

// AddPermits changes by n how many permits the semaphore has. A negative n removes permits. Holders keep
// theirs, and nobody gets a permit until enough have been released. See
// Semaphore.AddPermits.
func (s *PermitSemaphore) AddPermits(ctx context.Context, n int) error {
	return addPermits(ctx, s.count, n)
}

// Available is how many permits can be taken now. It is negative if more are in use than
// the semaphore has. Permits whose lease is over count as available. It changes nothing. See Semaphore.Available.
func (s *PermitSemaphore) Available(ctx context.Context) (int, error) { return s.count.Available(ctx) }

// Acquire waits until a permit is held, ctx ends, or the time of WithWait has passed. Nothing else bounds
// the wait, also if nobody has called TrySetPermits yet.
//
// In Redis the counter named after the semaphore is then lower by one. A sorted set has the id of the
// permit, with the time at which it expires. Hold.Owner is the id in hexadecimal digits. Each
// acquisition takes a permit of its own, even with Client.WithOwner or under Hold.Context. Waiters of one
// process are served in the order of arrival. Between processes there is no order.
//
// Acquire refuses an option that needs a single holder with a *ConfigError; docs/choosing.md lists them. The
// watchdog (Config.Protect) does not renew permits: a permit is lost if the process is paused for longer than its
// lease.
//
// Errors: those of Mutex.Lock, except ErrReentry and ErrLost.
//
// Source: RPermitExpirableSemaphore.acquire and tryAcquire of Redisson; docs/wire-format.md, "Semaphore
// with leased permits".
func (s *PermitSemaphore) Acquire(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return s.client.acquire(ctx, aPermit, &s.ref, forever, opts)
}

// TryAcquire takes a permit if one is available, and does not wait. It asks Redis once and may
// overtake waiters. For errors and effects see Acquire.
func (s *PermitSemaphore) TryAcquire(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return s.client.acquire(ctx, aPermit, &s.ref, 0, opts)
}

// Recall asks whoever has the permit with this id to give it back. See Mutex.Recall. No message tells the holder at once.
func (s *PermitSemaphore) Recall(ctx context.Context, id, reason string) (bool, error) {
	return recall(ctx, &s.ref, "id", id, reason)
}

// ForceUnlockIf takes the permit with this id from its holder, wakes a waiter, and reports whether it was in
// use. The id is Hold.Owner, as redlatch show prints it. It is for operators: the holder goes on working until its
// next renewal. For errors see Mutex.ForceUnlockIf.
func (s *PermitSemaphore) ForceUnlockIf(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, &ConfigError{Field: "id", Reason: "it is empty"}
	}
	return operator.Force(ctx, &s.ref, id)
}

// Locker returns the semaphore as a Lock, for Do and other functions that take one. Its Lock takes one
// permit. A Multi and a Quorum refuse it.
func (s *PermitSemaphore) Locker() Lock { return (*permitLock)(s) }

type permitLock PermitSemaphore

func (l *permitLock) Name() string { return (*PermitSemaphore)(l).Name() }

func (l *permitLock) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return (*PermitSemaphore)(l).Acquire(ctx, opts...)
}

func (l *permitLock) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return (*PermitSemaphore)(l).TryAcquire(ctx, opts...)
}

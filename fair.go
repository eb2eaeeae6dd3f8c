package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/lock"
)

// FairMutex is an exclusive lock that is served in the order in which it was asked for,
// across goroutines, processes and languages. It is the lock that Redisson calls
// FairLock, and shares one queue with Java processes.
//
// Every waiter stands in the queue in Redis. A process says once a second, or more often
// where leases are short, that it is alive. The waiters of a process that has not been heard
// of for 3.5 s are passed over. After an outage, in which nobody was heard, every process
// has 3.5 s to be heard again. A Java waiter at the head is passed over at its deadline. That
// is at most Config.FairWait after the end of the lease, and at most 10 s after the lock
// became free. A Mutex of the same name excludes the FairMutex, and does not queue.
//
// A FairMutex holds no state; see Mutex.
type FairMutex struct {
	client *Client
	ref    lock.Ref
}

// FairMutex returns the fair mutex called name. It does not touch Redis. Its methods report a
// name that is not valid as ErrInvalidName.
func (c *Client) FairMutex(name string) *FairMutex {
	return &FairMutex{c, c.locks.FairMutex(name)}
}

// Name is the name the mutex was made with.
func (m *FairMutex) Name() string { return m.ref.Name }

// Exclusive is true: a fair mutex has one holder at a time.
func (*FairMutex) Exclusive() bool { return true }

// Lock queues and waits until the mutex is held, ctx ends, or the time of WithWait has
// passed. For options and errors see Mutex.Lock. After an error the waiter has left the
// queue. If it was the first one and the lock was free, the next one has been told.
//
// While somebody waits, Redis has three more keys than for a Mutex:
//
//   - The list "redisson_lock_queue:{name}" has the owners that wait.
//   - The sorted set "redisson_lock_timeout:{name}" has their deadlines.
//   - The sorted set "redlatch:fair:{name}" has the last sign of life of each client of this
//     library that waits. It may stay for an hour if the last waiters are more than 64 Java
//     threads.
//
// Source: RFairLock of Redisson since 3.11.1; docs/wire-format.md, "Fair lock".
func (m *FairMutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aFairMutex, &m.ref, forever, opts)
}

// TryLock takes the mutex if it is free and nobody is waiting for it. It does not queue.
// If no waiting client was heard of for 2 s, TryLock fails once, because that may have been
// an outage. Waiters that are still silent 3.5 s later are passed over. See Lock.
func (m *FairMutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aFairMutex, &m.ref, 0, opts)
}

// ForceUnlock frees the mutex, whoever holds it, and wakes the next waiter. The queue
// stays. A key without TTL, or whose one field does not begin with a UUID, may be data. It
// is refused with ErrWrongType, and ForceUnlockIf frees it. See Mutex.ForceUnlock.
func (m *FairMutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.ref.ForceUnlock(ctx, "")
}

// ForceUnlockIf is ForceUnlock for a lock that owner holds, as Status names it. If somebody
// else holds the mutex by then, or nobody does, it changes nothing and reports false. An
// owner may have any name, and the key no TTL.
//
// Errors: those of ForceUnlock, and a *ConfigError for an empty owner.
func (m *FairMutex) ForceUnlockIf(ctx context.Context, owner string) (bool, error) {
	return forceUnlockIf(ctx, &m.ref, owner)
}

// Status reads who holds the mutex and who waits for it, in the order of the queue: the
// first 10,000. It changes nothing. See Mutex.Status.
func (m *FairMutex) Status(ctx context.Context) (Status, error) {
	return status(ctx, &m.ref, "")
}

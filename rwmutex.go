package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/lock"
)

// RWMutex is a read-write lock: any number of readers, or one writer. It is the lock
// that Redisson calls RReadWriteLock, and shares it with Java processes.
//
// Both sides are re-entrant for one owner (Client.WithOwner). An owner that holds the
// write side may take the read side as well and then release the write side. It is
// then a reader, and readers that wait enter at once. An owner that only reads and asks
// for the write side would wait for itself. It gets ErrUpgrade.
//
// Waiters of one process are served in the order of arrival. A reader waits behind a
// writer that came before it, so readers do not starve the writers of their own process.
// Between processes there is no order: readers of other processes do overtake a waiting
// writer.
//
// An RWMutex is itself a Lock: its write side. It holds no state; see Mutex.
type RWMutex struct {
	client      *Client
	read, write lock.Ref
}

var _ Lock = (*RWMutex)(nil)

// RWMutex returns the read-write lock called name. It does not touch Redis. Its methods
// report a name that is not valid as ErrInvalidName.
func (c *Client) RWMutex(name string) *RWMutex {
	read, write := c.locks.RWMutex(name)
	return &RWMutex{c, read, write}
}

// Name is the name the lock was made with.
func (m *RWMutex) Name() string { return m.write.Name }

// Exclusive is true: the write side has one holder at a time. That of RLocker has many.
func (*RWMutex) Exclusive() bool { return true }

// Lock waits until the write side is held, ctx ends, or the time of WithWait has
// passed. For options, errors and waiting see Mutex.Lock. The error is ErrUpgrade if
// the owner holds the read side and not the write side.
//
// In Redis the hash named after the lock then has the field "mode" with the value
// "write", and the field "clientUUID:number:write" with the count. After a crash the lock
// is free after one lease, however often it was taken. Lock removes a reader whose lease
// has ended, even while other readers keep the lock alive.
//
// Source: RReadWriteLock.writeLock of Redisson; docs/wire-format.md, "Read-write lock".
func (m *RWMutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aWriter, &m.write, forever, opts)
}

// TryLock takes the write side if it is free, and does not wait. See Lock.
func (m *RWMutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aWriter, &m.write, 0, opts)
}

// RLock waits until the read side is held, ctx ends, or the time of WithWait has passed.
// For options, errors and waiting see Mutex.Lock.
//
// In Redis the hash named after the lock then has the field "mode", and the field
// "clientUUID:number" with the count. For each hold there is a key beside it, with the
// lease as TTL: "{name}:clientUUID:number:rwlock_timeout:1" and so on. So an owner that has
// 1,024 holds of the lock gets no read hold more: ErrUnsupported.
//
// Source: RReadWriteLock.readLock of Redisson; docs/wire-format.md, "Read-write lock".
func (m *RWMutex) RLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aReader, &m.read, forever, opts)
}

// TryRLock takes the read side if no writer holds the lock, and does not wait. See RLock.
func (m *RWMutex) TryRLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, aReader, &m.read, 0, opts)
}

// RLocker returns the read side as a Lock.
func (m *RWMutex) RLocker() Lock { return (*readLocker)(m) }

type readLocker RWMutex

func (l *readLocker) Name() string { return (*RWMutex)(l).Name() }

func (l *readLocker) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return (*RWMutex)(l).RLock(ctx, opts...)
}

func (l *readLocker) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return (*RWMutex)(l).TryRLock(ctx, opts...)
}

// ForceUnlock frees the lock, whichever side holds it, with the keys of its readers,
// and wakes its waiters. It reports whether it was held. See Mutex.ForceUnlock.
func (m *RWMutex) ForceUnlock(ctx context.Context) (bool, error) {
	return m.write.ForceUnlock(ctx, "")
}

// ForceUnlockIf takes both sides of the lock from owner, as Status names it. Other readers
// keep their holds. It reports false if that owner does not hold the lock. See
// Mutex.ForceUnlockIf.
func (m *RWMutex) ForceUnlockIf(ctx context.Context, owner string) (bool, error) {
	return forceUnlockIf(ctx, &m.write, owner)
}

// Status reads who holds the lock, on which side, how often, and for how much longer. It
// changes nothing. See Mutex.Status.
func (m *RWMutex) Status(ctx context.Context) (Status, error) {
	return status(ctx, &m.write, "")
}

// StatusOf is Status with no other owner among the Holders. So HeldBy finds that owner also where more
// readers hold the lock than Status names.
func (m *RWMutex) StatusOf(ctx context.Context, owner string) (Status, error) {
	return status(ctx, &m.write, owner)
}

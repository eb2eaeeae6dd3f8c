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
// An RWMutex is a Mutex for its write side: Lock, TryLock, Status, ForceUnlock and ForceUnlockIf are
// those of Mutex. ForceUnlock frees both sides, with the keys of the readers. ForceUnlockIf takes both
// sides from one owner, and other readers keep their holds. An RWMutex holds no state.
//
// In Redis the hash named after the lock has the field "mode". While it is "write", the field
// "clientUUID:number:write" has the count of the writer's holds. After a crash the lock is free after one
// lease, however often it was taken. Lock removes a reader whose lease has ended, even while other
// readers keep the lock alive.
//
// Source: RReadWriteLock of Redisson; docs/wire-format.md, "Read-write lock".
type RWMutex struct {
	Mutex
	reader readLocker
}

// RWMutex returns the read-write lock called name. It does not touch Redis. Its methods
// report a name that is not valid as ErrInvalidName.
func (c *Client) RWMutex(name string) *RWMutex {
	read, write := c.locks.RWMutex(name)
	return &RWMutex{Mutex{c, write, aWriter}, readLocker{c, read}}
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
	return m.reader.Lock(ctx, opts...)
}

// TryRLock takes the read side if no writer holds the lock, and does not wait. See RLock.
func (m *RWMutex) TryRLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.reader.TryLock(ctx, opts...)
}

// RLocker returns the read side as a Lock.
func (m *RWMutex) RLocker() Lock {
	if m == nil {
		return (*readLocker)(nil)
	}
	return &m.reader
}

// readLocker is the read side. It does not embed a Mutex, whose method Exclusive it must not have.
type readLocker struct {
	client *Client
	ref    lock.Ref
}

func (l *readLocker) Name() string { return l.ref.Name }

func (l *readLocker) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return l.client.acquire(ctx, aReader, &l.ref, forever, opts)
}

func (l *readLocker) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return l.client.acquire(ctx, aReader, &l.ref, 0, opts)
}

// StatusOf is Status with no other owner among the Holders. So HeldBy finds that owner also where more
// readers hold the lock than Status names.
func (m *RWMutex) StatusOf(ctx context.Context, owner string) (Status, error) {
	return status(ctx, &m.ref, owner)
}

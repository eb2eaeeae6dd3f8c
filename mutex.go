package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/operator"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Mutex is an exclusive lock: at most one owner holds it. It is the lock that
// Redisson calls RLock, and shares it with Java processes. Client.FairMutex makes one that is
// served in the order of arrival.
//
// A Mutex holds no state: any number of them may stand for one name, and each may
// be used by any number of goroutines. The Hold is what was acquired.
type Mutex struct {
	client *Client
	ref    lock.Ref
	kind   lockKinds
}

var _ Lock = (*Mutex)(nil)

// Mutex returns the mutex called name. It does not touch Redis. Its methods report a
// name that is not valid as ErrInvalidName.
func (c *Client) Mutex(name string) *Mutex {
	return &Mutex{c, c.locks.Mutex(name), aMutex}
}

// FairMutex returns a mutex that is served in the order in which it was asked for, across
// goroutines, processes and languages. It is the lock that Redisson calls FairLock, and shares one
// queue with Java processes. FairMutex does not touch Redis.
//
// Every waiter stands in the queue in Redis. A process says once a second, or more often
// where leases are short, that it is alive. The waiters of a process that has not been heard
// of for 3.5 s are passed over. After an outage, in which nobody was heard, every process
// has 3.5 s to be heard again. A Java waiter at the head is passed over at its deadline. That
// is at most Config.FairWait after the end of the lease, and at most 10 s after the lock
// became free. A lock of the same name that Client.Mutex made excludes this one, and does not queue.
//
// While somebody waits, Redis has three more keys than for another mutex:
//
//   - The list "redisson_lock_queue:{name}" has the owners that wait.
//   - The sorted set "redisson_lock_timeout:{name}" has their deadlines.
//   - The sorted set "redlatch:fair:{name}" has the last sign of life of each client of this
//     library that waits. It may stay for an hour if the last waiters are more than 64 Java
//     threads.
//
// When Lock returns an error, the waiter has left the queue. If it was the first one and the lock was
// free, the next one has been told. ForceUnlock leaves the queue and wakes the next waiter.
//
// TryLock does not queue, and fails while somebody waits. If no waiting client was heard of for 2 s,
// TryLock fails once, because that may have been an outage. Waiters that are still silent 3.5 s later
// are passed over.
//
// Source: RFairLock of Redisson since 3.11.1; docs/wire-format.md, "Fair lock".
func (c *Client) FairMutex(name string) *Mutex {
	return &Mutex{c, c.locks.FairMutex(name), aFairMutex}
}

// Name is the name the mutex was made with.
func (m *Mutex) Name() string { return m.ref.Name }

// Exclusive is true: a mutex has one holder at a time.
func (*Mutex) Exclusive() bool { return true }

// Lock waits until the mutex is held, ctx ends, or the time of WithWait has passed.
//
// In Redis the hash named after the lock then has one field: the hold's owner, with
// the count of its holds. The TTL is the lease. The lease is renewed until Unlock,
// unless WithLease fixed it. Waiters of one process are served in the order of
// arrival. Between processes there is no order.
//
// Errors:
//
//   - ErrNotAcquired, joined with ctx's error if that ended the wait. Nothing is held.
//   - ErrUnknownOutcome. The lock is free after one lease at the latest.
//   - ErrLost, if an outer hold of the same owner turned out to be gone.
//   - ErrNotReplicated, with WithReplicas. The lock was released again.
//   - ErrUnsupported, if that owner has 65,536 holds of the lock.
//   - ErrReentry, ErrWrongType, ErrInvalidName, ErrClosed, *ConfigError.
//   - Errors of the network and the server. Nothing is held.
//
// Source: RLock.lock and tryLock of Redisson; docs/wire-format.md, "Mutex".
func (m *Mutex) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, m.kind, &m.ref, forever, opts)
}

// TryLock takes the mutex if it is free, and does not wait. It asks Redis once and
// may overtake waiters. While another owner of this client holds the mutex, TryLock fails without an
// answer from Redis. For errors and effects see Lock.
func (m *Mutex) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.client.acquire(ctx, m.kind, &m.ref, 0, opts)
}

// Recall asks the owner to give the mutex back, and reports whether that owner holds it. Owner is what Status names.
// Reason is a line of at most 256 bytes. The holder learns the reason, and who asks: Config.Name of this client. It learns
// them by its next renewal, after a third of its lease at the latest. The holder decides what it does (Hold.Recalled).
// Status says whether the holder knows by now. Recall takes the lock from nobody, so it is safe where ForceUnlock is not.
//
// A holder does not learn of the request while its process is paused, or if it is another implementation or an older
// version. Without renewals (WithLease) it may not learn of it (Hold.Recalled). The request stands beside the lock. It ends
// with the last hold of an owner that knows of it. Otherwise it ends with the TTL of the lock, and after an hour at most. It
// never reaches a later holder: only Redisson uses the name of an owner again. If the owner already knows of a request, a
// second Recall tells it nothing.
//
// Recall blocks for one round trip, bounded by ctx and Config.CommandTimeout.
//
// Errors: ErrWrongType, ErrUnknownOutcome, ErrInvalidName, ErrClosed, and a *ConfigError for an empty owner, or a reason that is
// too long or has a control character.
func (m *Mutex) Recall(ctx context.Context, owner, reason string) (bool, error) {
	return recall(ctx, &m.ref, "owner", owner, reason)
}

func recall(ctx context.Context, r *lock.Ref, field, owner, reason string) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: field, Reason: "it is empty"}
	}
	if err := wrong("reason", protocol.CheckNote(reason)); err != nil {
		return false, err
	}
	return operator.Recall(ctx, r, owner, reason)
}

// ForceUnlock frees the mutex, whoever holds it, and wakes its waiters. It reports
// whether it was held. It is for operators: the holder goes on working until its
// next renewal tells it, after a third of its lease at the latest.
//
// It blocks for one round trip, bounded by ctx and Config.CommandTimeout. A key without
// expiry, or whose owner does not begin with a UUID, may be data. It is left alone, and
// ForceUnlockIf frees it.
//
// Errors: ErrWrongType, if the key is or may be something else; ErrUnknownOutcome;
// ErrInvalidName, as for Status; ErrClosed.
//
// Source: RLock.forceUnlock of Redisson; docs/wire-format.md, "Mutex".
func (m *Mutex) ForceUnlock(ctx context.Context) (bool, error) {
	return operator.Force(ctx, &m.ref, "")
}

// ForceUnlockIf is ForceUnlock for a lock that owner holds. Owner is what Status names, in
// the form of any implementation. If another owner holds the mutex by then, or nobody does,
// it changes nothing and reports false. So it is safe if the holder changes between Status
// and this call.
//
// Errors: those of ForceUnlock, and a *ConfigError for an empty owner.
func (m *Mutex) ForceUnlockIf(ctx context.Context, owner string) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: "owner", Reason: "it is empty; ForceUnlock frees a lock whoever holds it"}
	}
	return operator.Force(ctx, &m.ref, owner)
}

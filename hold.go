package redlatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
)

// Hold is one successful acquisition. The lock is held until Done is closed. The methods may be
// called by any number of goroutines. Only Lock, TryLock and Client.Attach make a Hold. A copy of one is no hold,
// and neither is the zero value.
type Hold lock.Hold

// String names the lock and, except for a Multi or Quorum, the owner, for logs.
func (h *Hold) String() string {
	if owner := h.Owner(); owner != "" {
		return fmt.Sprintf("%q held by %s", h.Name(), owner)
	}
	return fmt.Sprintf("%q", h.Name())
}

// Err is nil while the lock is held, then an error that matches ErrLost or ErrReleased. It
// does not block and sends nothing. A hold is lost at the latest when its Deadline passes.
// The exception is a protected hold (Config.Protect) whose process was paused. The client
// then asks Redis. Until Redis answers, Err is nil and Valid is false.
func (h *Hold) Err() error { return h.lock().Err() }

// Valid says whether the lock is held and its local deadline has not passed. Ask it right
// before an effect that must not happen twice. The process may still be paused between the
// question and the effect: only the guarded resource itself can refuse a late effect.
func (h *Hold) Valid() bool { return h.lock().Valid() }

// Deadline is the moment up to which the hold may be trusted, on this machine's monotonic clock. It
// lies before the expiry in Redis, and moves on with each renewal. For a Multi it is the earliest
// deadline of its members. For a Quorum it is the moment at which fewer than a majority of its
// members would be held.
func (h *Hold) Deadline() time.Time { return h.lock().Deadline() }

// Name is the name of the lock that is held. For a Multi or Quorum it is that of the whole.
func (h *Hold) Name() string { return h.lock().Name() }

// Owner is the holder as it stands in Redis, "clientUUID:number". For a permit of a PermitSemaphore it is
// the id of the permit, 32 hexadecimal digits, as in Java. It is empty for a Multi or Quorum, each member
// of which has its own.
func (h *Hold) Owner() string { return h.lock().Owner() }

// Token is the fencing token that was taken with the hold, 0 without WithFencing. It is 0
// for a Multi or Quorum, each member of which has its own.
func (h *Hold) Token() int64 { return h.lock().Token() }

// Members are the holds of the single locks that a Multi or Quorum is made of, in the
// order in which they are taken. For a Quorum these are the members that are held now.
// Members is nil for a single lock. The whole loses a member that is released or detached
// by itself.
func (h *Hold) Members() []*Hold {
	var members []*Hold
	for _, m := range h.lock().Members() {
		members = append(members, (*Hold)(m))
	}
	return members
}

// Done is closed when the lock is no longer held, for whatever reason.
func (h *Hold) Done() <-chan struct{} { return h.lock().Done() }

// Context returns a child of the context that was given to Lock. It ends when the
// hold does, and its cause (context.Cause) then matches ErrLost or ErrReleased. It
// also ends with its parent, but the hold does not: that lasts until Unlock. With WithRecall it ends when the
// hold is recalled, and so does the context that Do passes to its function.
//
// Taking the same lock again below this context is reported as ErrReentry.
func (h *Hold) Context() context.Context { return h.lock().Context() }

// Unlock releases the hold. After the owner's last hold the lock is free: its key is gone and its
// waiters are woken. WithMinHold keeps the key for longer. While the owner has other holds, Unlock
// lowers the count by one, and the TTL is at least their full lease, or what is left up to their limit (WithMaxHold).
//
// It works with a context that has ended: Config.ReleaseTimeout bounds it instead. The hold
// is over and no longer renewed, whatever Unlock returns. A second call returns nil and sends
// nothing, also if the first one failed.
//
// Nil from the first call means that nothing of the hold is left. The lock may stay for longer with WithMinHold and
// WithCohort, and on a minority of the servers of a Quorum. After a lost reply Unlock repeats the request, and may find
// the lock free. It then takes the lock for released, although somebody may have forced it open a moment before. If
// Close is about to release the hold, Unlock waits for Close and returns nil. Close reports what could not be released.
//
// Errors: ErrLost, if the lock was not held any more. Somebody else may have held it
// meanwhile. After ErrUnknownOutcome, or an error of the network or the server, the lock may
// stay in Redis until its TTL ends.
//
// Source: RLock.unlock of Redisson; docs/wire-format.md, "Mutex".
func (h *Hold) Unlock(ctx context.Context) error { return h.lock().Unlock(ctx) }

// Extend lets a hold last for d from now, in Redis and in this client. If the hold is renewed, d is its lease
// from then on. It never shortens a hold, or a lease. The least d is 10 ms. The limit of WithMaxHold still applies.
// Replicas do not confirm the extension (WithReplicas). Under re-entry all holds of one owner last
// that long. Extend blocks for one round trip, bounded by ctx and Config.CommandTimeout.
//
// Deadline moves on only when Redis has confirmed the extension. After an error the hold lasts as
// long as before.
//
// Errors: ErrLost and ErrReleased, if the hold is over. ErrClosed, and errors of ctx, the network and the server. After
// ErrUnknownOutcome the lock may stay in Redis for up to d if this process dies. The error is a *ConfigError for a hold
// of a Multi, a Quorum or a cohort. It is one as well if the lock is a member of a Quorum that its owner holds or is
// acquiring, and d is longer than Config.RestartDelay. The hold then stays as it is.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	if err := inRange("Extend", d, minLease, longest); err != nil {
		return err
	}
	return h.lock().Extend(ctx, d)
}

// Lease is how long the hold lasts without a renewal, measured from the last one: the time of WithLease, or
// Config.LeaseTime. Of a Multi or a Quorum it is the shortest one of a member.
func (h *Hold) Lease() time.Duration { return h.lock().Lease() }

// Unlocked says that Unlock was called. If Err matches ErrReleased and Unlocked is false, the hold was
// detached, or the client has closed.
func (h *Hold) Unlocked() bool { return h.lock().Unlocked() }

// Detach ends this hold without telling Redis. Use it for a lock that must outlive the
// process, or that you hand to somebody who knows its owner. From now on Err matches
// ErrReleased. After the owner's last hold the lock is not renewed, and ends with its
// TTL. If the owner has other holds of the lock, Unlock of the last of them frees it.
// A Multi or Quorum detaches all its members.
func (h *Hold) Detach() { h.lock().Detach() }

// Recalled is closed when somebody has asked for the lock back (Mutex.Recall). The lock is still held, and renewed.
// Finish what is under way, and call Unlock. The holder learns of the request by its next renewal. A hold with WithLease
// has none, and may not learn of it.
//
// A message tells the holder at once while goroutines of this client wait for the lock. That holds for a Mutex that is not
// fair and for an RWMutex, and for waiters outside of a cohort. Of very many readers, the latest 100 are told at once.
func (h *Hold) Recalled() <-chan struct{} { return h.lock().Recalled() }

// RecallErr says who asked for the lock back, and why: a *RecalledError, or nil if nobody did.
func (h *Hold) RecallErr() error { return h.lock().RecallErr() }

// Ticket ends this hold without telling Redis, and returns a text of which Client.Attach makes a hold in
// another process. Nobody renews the lock in between: it stays for what is left of its TTL (Extend makes that
// longer first, Client.ExtendTicket later). From now on Err matches ErrReleased.
//
// Whoever has the ticket and reaches the Redis has the lock, so it belongs into no log and no command line. The
// ticket is printable, and has no blank.
//
// The error is a *ConfigError, and the hold stays as it is, if no ticket can tell what has to be known: for a
// Multi, a Quorum and their members, a cohort (WithCohort), an owner that has other holds of the lock, and before
// the end of WithMinHold. ErrLost and ErrReleased, if the hold is over.
func (h *Hold) Ticket() (string, error) { return h.lock().Ticket() }

func (h *Hold) lock() *lock.Hold { return (*lock.Hold)(h) }

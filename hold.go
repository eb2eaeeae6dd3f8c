package redlatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Hold is one successful acquisition: to have it is to hold the lock, until Done is
// closed. Its methods may be called by any number of goroutines.
type Hold struct {
	keeper keeper
	parent context.Context
	read   bool // of the read side of a read-write lock
	want   request
	since  time.Time
	until  time.Time // when it ends at the latest; zero without such a moment

	unlocked atomic.Bool // it is to be given back

	// Below what the keeper's mutex guards: whoever holds both took that one first.
	mu     sync.Mutex
	err    error         // nil while held; written with the keeper's mutex held as well
	done   chan struct{} // made when it is asked for
	ctx    context.Context
	cancel context.CancelCauseFunc
	whole  *group // that it is a member of, nil if of none
}

// tenure is what stands behind the hold of a single lock.
func (h *Hold) tenure() *tenure { return h.keeper.(*tenure) }

// finish ends the hold. The keeper's mutex is held.
func (h *Hold) finish(err error) {
	h.mu.Lock()
	h.err = err
	if h.done != nil {
		close(h.done)
	}
	if h.cancel != nil {
		h.cancel(err)
	}
	whole := h.whole
	h.mu.Unlock()
	if whole != nil {
		whole.left(h, err)
	}
}

// Err is nil while the lock is held, then an error that matches ErrLost or ErrReleased. It
// does not block and sends nothing. A hold is lost at the latest when its Deadline passes.
// The exception is a protected hold (Config.Protect) whose process was paused: Redis is
// asked, and until it answers Err is nil and Valid is false.
func (h *Hold) Err() error {
	h.keeper.ended()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Valid says whether the lock is held and its local deadline has not passed. Ask it right
// before an effect that must not happen twice. The process may still be paused between the
// question and the effect: only the guarded resource itself can refuse a late effect.
func (h *Hold) Valid() bool { return h.Err() == nil && h.keeper.valid() }

// Deadline is the moment up to which the hold may be trusted, on this machine's monotonic
// clock. It lies before the expiry in Redis, and moves on with each renewal. For a Multi it
// is the earliest deadline of its members. For a Quorum it is the moment from which on fewer
// than a majority would be left.
func (h *Hold) Deadline() time.Time { return h.keeper.deadline() }

// Owner is the holder as it stands in Redis, "clientUUID:number". It is empty for a Multi
// or Quorum, each member of which has its own.
func (h *Hold) Owner() string { return h.keeper.owned() }

// Token is the fencing token that was taken with the hold, 0 without WithFencing. It is 0
// for a Multi or Quorum, each member of which has its own.
func (h *Hold) Token() int64 {
	if !h.want.fenced {
		return 0
	}
	return h.keeper.issued()
}

// Members are the holds of the single locks that a Multi or Quorum is made of, in the
// order in which they are taken. Of a Quorum it is those that are held now. It is nil for
// a single lock. A member that is released or detached by itself is lost to the whole.
func (h *Hold) Members() []*Hold { return h.keeper.members() }

// Done is closed when the lock is no longer held, for whatever reason.
func (h *Hold) Done() <-chan struct{} {
	h.keeper.ended()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done == nil {
		h.done = make(chan struct{})
		if h.err != nil {
			close(h.done)
		}
	}
	return h.done
}

// Context returns a child of the context that was given to Lock. It ends when the
// hold does, and its cause (context.Cause) then matches ErrLost or ErrReleased. It
// also ends with its parent, which does not end the hold: that lasts until Unlock.
//
// Taking the same lock again below this context is reported as ErrReentry.
func (h *Hold) Context() context.Context {
	h.keeper.ended()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		ctx, cancel := context.WithCancelCause(h.parent)
		h.ctx, h.cancel = holdContext{ctx, h}, cancel
		if h.err != nil {
			cancel(h.err)
		}
	}
	return h.ctx
}

// Unlock releases the hold. With the owner's last hold the lock is free: its key is gone and
// its waiters are woken. Before the last, the count is one lower and the TTL is at least the
// full lease.
//
// It works with a context that has ended: Config.ReleaseTimeout bounds it instead. The hold
// is over and no longer renewed, whatever Unlock returns. A second call returns nil and sends
// nothing, also if the first one failed.
//
// Nil means that nothing of the hold is left. After a lost reply the request is repeated.
// Unlock then cannot tell a lock that the first request freed from one that was forced open a
// moment before. Once the client has begun to close, Unlock waits for that and returns nil:
// Close reports what could not be released.
//
// Errors: ErrLost, if the lock was not held any more; then somebody else may have
// held it meanwhile. ErrUnknownOutcome and errors of the network and the server:
// the lock may stand in Redis until its TTL ends.
//
// Source: Redisson's RLock.unlock, "release" in the wire format.
func (h *Hold) Unlock(ctx context.Context) error {
	if !h.parts() {
		return nil
	}
	return h.keeper.release(ctx, h)
}

// parts says, once, that the hold is to be given back.
func (h *Hold) parts() bool { return !h.unlocked.Swap(true) }

// Detach gives up this hold without telling Redis, for a lock that is to outlive
// the process or to be handed to somebody who knows its owner. Err is ErrReleased
// from now on. Renewal ends with the owner's last hold; the lock then ends with its
// TTL. If the owner has other holds of the lock, Unlock of the last of them frees it.
// A Multi or Quorum detaches all its members.
func (h *Hold) Detach() { h.keeper.detach(h) }

package redlatch

import (
	"context"
	"time"
)

// Hold is one successful acquisition: to have it is to hold the lock, until Done is
// closed. Its methods may be called by any number of goroutines.
type Hold struct {
	tenure *tenure
	parent context.Context
	want   request
	since  time.Time
	until  time.Time // when it ends at the latest; zero without such a moment

	// Guarded by the tenure's mutex.
	err      error // nil while held
	unlocked bool
	done     chan struct{} // made when it is asked for
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

// finish ends the hold. The tenure's mutex is held.
func (h *Hold) finish(err error) {
	h.err = err
	if h.done != nil {
		close(h.done)
	}
	if h.cancel != nil {
		h.cancel(err)
	}
}

// Err is nil while the lock is held, then an error that matches ErrLost or
// ErrReleased. It does not block and asks nobody: a hold is lost at the latest when
// its Deadline passes. Only one that is protected (Config.Protect) is in doubt instead if
// its process was paused: then Err is still nil, Valid is false, and Redis is asked.
func (h *Hold) Err() error {
	h.tenure.ended()
	h.tenure.mu.Lock()
	defer h.tenure.mu.Unlock()
	return h.err
}

// Valid says whether the lock is held and its local deadline has not passed. Ask it
// right before an effect that must not happen twice; what can happen between the
// question and the effect only the guarded resource itself can exclude.
func (h *Hold) Valid() bool { return h.Err() == nil && !h.tenure.Term().Over(time.Now()) }

// Deadline is the moment up to which the hold may be trusted, on this machine's
// monotonic clock. It lies before the expiry in Redis, and moves on with each
// renewal.
func (h *Hold) Deadline() time.Time { return h.tenure.Term().Deadline() }

// Owner is the holder as it stands in Redis, "clientUUID:number".
func (h *Hold) Owner() string { return h.tenure.owner }

// Token is the fencing token that was taken with the hold, 0 without WithFencing.
func (h *Hold) Token() int64 {
	if !h.want.fenced {
		return 0
	}
	h.tenure.mu.Lock()
	defer h.tenure.mu.Unlock()
	return h.tenure.token
}

// Done is closed when the lock is no longer held, for whatever reason.
func (h *Hold) Done() <-chan struct{} {
	h.tenure.ended()
	h.tenure.mu.Lock()
	defer h.tenure.mu.Unlock()
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
	h.tenure.ended()
	h.tenure.mu.Lock()
	defer h.tenure.mu.Unlock()
	if h.ctx == nil {
		ctx, cancel := context.WithCancelCause(h.parent)
		h.ctx, h.cancel = holdContext{ctx, h}, cancel
		if h.err != nil {
			cancel(h.err)
		}
	}
	return h.ctx
}

// Unlock gives the hold back. With the owner's last hold the lock is free: its key
// is gone and its waiters are woken; before that, the count is one lower and the
// TTL is the full lease again.
//
// It works with a context that has ended: what bounds it is Config.ReleaseTimeout.
// The hold is over and no longer renewed whatever Unlock returns. A second call is
// nil and does nothing.
//
// Errors: ErrLost, if the lock was not held any more; then somebody else may have
// held it meanwhile. ErrUnknownOutcome and errors of the network and the server:
// the lock may stand in Redis until its TTL ends.
//
// Source: Redisson's RLock.unlock, "release" in the wire format.
func (h *Hold) Unlock(ctx context.Context) error {
	h.tenure.mu.Lock()
	again := h.unlocked
	h.unlocked = true
	h.tenure.mu.Unlock()
	if again {
		return nil
	}
	return h.tenure.client.release(ctx, h)
}

// Detach gives up this hold without telling Redis, for a lock that is to outlive
// the process or to be handed to somebody who knows its owner. Err is ErrReleased
// from now on. Renewal ends with the owner's last hold; the lock then ends with its
// TTL.
func (h *Hold) Detach() {
	t := h.tenure
	if remaining, dropped, _ := t.drop(h); dropped && remaining == 0 {
		t.leave()
		t.unprotect()
	}
}

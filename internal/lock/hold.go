package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// Hold is one successful acquisition. Its methods may be called by any number of goroutines.
// Package redlatch shows it to users, with a doc comment for each method.
type Hold struct {
	backend Backend
	parent  context.Context
	opts    *Options // guarded by the backend's mutex
	token   int64    // 0 if it was taken without; it stays when the grant serves another owner
	since   time.Time
	until   time.Time // when it ends at the latest; zero without a limit

	read      bool        // of the read side of a read-write lock
	forOthers bool        // Options.ForOthers
	unlocked  atomic.Bool // it is to be released

	mu      sync.Mutex
	recalls bool          // its context ends when it is recalled
	recall  *recall       // nil if nobody has asked for it or about it
	err     error         // nil while held; written with the backend's mutex held as well
	done    chan struct{} // made when it is asked for
	ctx     context.Context
	cancel  context.CancelCauseFunc
	whole   Whole // that it is a member of, nil if of none
}

// Whole is what several holds are members of.
type Whole interface {
	// MemberEnded takes note that a member has ended, and MemberRecalled that it was recalled. The mutex of its
	// grant is held.
	MemberEnded(h *Hold, why error)
	MemberRecalled(h *Hold, why error)
}

// Init makes a hold of a backend that is no grant.
func (h *Hold) Init(b Backend, parent context.Context, opts *Options) {
	h.backend, h.parent, h.recalls = b, parent, opts.Recalls
}

// Granted notes that such a hold is held from now on, with a token or 0.
func (h *Hold) Granted(token int64, now time.Time) { h.since, h.token = now, token }

// begin takes note that the caller has the hold. Only from here on MinHold counts.
func (h *Hold) begin(opts *Options) {
	if opts.MinHold > 0 {
		g := h.grant()
		g.mu.Lock()
		defer g.mu.Unlock()
		if end := h.since.Add(opts.MinHold); end.After(g.minHoldEnd) {
			g.minHoldEnd = end
		}
	}
}

// ForgoMinHold has the release of the hold free the lock at once.
func (h *Hold) ForgoMinHold() {
	if g, single := h.backend.(*Grant); single { // no other backend has a minimum time
		g.mu.Lock()
		defer g.mu.Unlock()
		g.minHoldEnd = time.Time{}
	}
}

// grant is the backend of the hold of a single lock.
func (h *Hold) grant() *Grant { return h.backend.(*Grant) }

// Limit is the moment beyond which the hold of a single lock is not renewed, zero if there is none.
func (h *Hold) Limit() time.Time { return h.grant().Term().Until }

// Ref is what the hold of a single lock holds, nil for any other hold.
func (h *Hold) Ref() *Ref {
	if g, single := h.backend.(*Grant); single {
		return g.ref
	}
	return nil
}

// Manager is the one whose lock is held: of a single lock.
func (h *Hold) Manager() *Manager { return h.grant().manager }

// Err is why the hold has ended, nil while it is held. It ends a hold whose time is over.
func (h *Hold) Err() error {
	h.backend.Expire()
	return h.Ended()
}

// Ended is why the hold has ended so far, whatever the time is.
func (h *Hold) Ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// End ends the hold. The backend's mutex is held.
func (h *Hold) End(why error) {
	h.mu.Lock()
	h.err = why
	if h.done != nil {
		close(h.done)
	}
	if h.cancel != nil {
		h.cancel(why)
	}
	whole := h.whole
	h.mu.Unlock()
	if whole != nil {
		whole.MemberEnded(h, why)
	}
}

// Join makes the hold a member of a whole, or says why it has ended.
func (h *Hold) Join(whole Whole) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.whole = whole
	return h.err
}

// Done is closed when the hold has ended.
func (h *Hold) Done() <-chan struct{} {
	h.backend.Expire()
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

// Context is a child of the context that was given to Lock, and ends when the hold does.
func (h *Hold) Context() context.Context {
	h.backend.Expire()
	h.mu.Lock()
	ctx := h.ctx
	h.mu.Unlock()
	if ctx == nil {
		ctx = h.bind()
	}
	return ctx
}

// bind makes the context. To bind a child to the parent runs code of the caller, which may hang. So no mutex is held
// meanwhile, and whoever ends the hold cancels only a child of that child.
func (h *Hold) bind() context.Context {
	bound, unbind := pause.Bound(h.parent)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx != nil { // another goroutine has made it
		unbind()
		return h.ctx
	}
	ctx, cancel := context.WithCancelCause(bound)
	h.ctx, h.cancel = holdContext{ctx, h}, func(why error) {
		cancel(why)
		unbind()
	}
	switch {
	case h.err != nil:
		h.cancel(h.err)
	case h.recalls && h.recall.reason() != nil:
		h.cancel(h.recall.reason())
	}
	return h.ctx
}

// Unlock releases the hold, once.
func (h *Hold) Unlock(ctx context.Context) error {
	if !h.Unlocked() {
		ctx = detached(ctx) // before it counts as unlocked: nil panics, and so may a context of a caller's own type
	}
	if !h.BeginUnlock() {
		return nil
	}
	return h.backend.Unlock(ctx, h)
}

// BeginUnlock says, once, that the hold is to be released.
func (h *Hold) BeginUnlock() bool { return !h.unlocked.Swap(true) }

// Unlocked says that its holder has unlocked it.
func (h *Hold) Unlocked() bool { return h.unlocked.Load() }

// Detach ends the hold without telling Redis.
func (h *Hold) Detach() { h.backend.Detach(h) }

// InTime says that the local deadline has not passed. Unlike Valid it ends nothing, and takes no mutex of a
// grant.
func (h *Hold) InTime() bool { return h.backend.Valid() }

// Trip is how long the request took that acquired the hold of a single lock, before it is renewed.
func (h *Hold) Trip() time.Duration { return h.since.Sub(h.grant().Term().Asked) }

// Valid says that the hold is held and its local deadline has not passed.
func (h *Hold) Valid() bool { return h.Err() == nil && h.backend.Valid() }

// Token is the fencing token, 0 if the hold was taken without.
func (h *Hold) Token() int64 { return h.token }

// What the backend knows.

func (h *Hold) Name() string         { return h.backend.Name() }
func (h *Hold) Deadline() time.Time  { return h.backend.Deadline() }
func (h *Hold) Lease() time.Duration { return h.backend.Lease() }
func (h *Hold) Owner() string        { return h.backend.Owner() }
func (h *Hold) Members() []*Hold     { return h.backend.Members() }
func (h *Hold) WaitedFor() string    { return h.backend.WaitedFor(h) }

// Holding is the grant by which the hold holds a lock, or nil.
func (h *Hold) Holding(k *Key) *Grant { return h.backend.Holding(k) }

package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// turn is the hold of one goroutine of a cohort. It is the backend of its own Hold. It asks its base,
// the cohort's hold in Redis, for all that Redis decides.
//
//	entering ──▶ in line ──▶ asking for the base ──▶ held ──▶ ended
//	    └──────────┴──────────────────────────────────▲
type turn struct {
	Hold
	cohort *cohort
	shared *owner        // nil if no other acquisition can have this owner
	told   chan struct{} // capacity one: it is to look again; nil unless it was in line

	// The cohort's mutex guards these until the turn is held.
	asks     bool  // it asks for a base
	releases *base // before it asks
	closed   bool  // the manager closes
	ordinary bool  // it is to be taken without the cohort
	base     *base // that it is a turn of, once it is held
	place    int   // its index among the turns of the base
}

var _ Backend = (*turn)(nil)

// acquireTurn takes a turn of the lock's cohort. An owner that holds the lock already re-enters
// in Redis.
func (r *Ref) acquireTurn(ctx context.Context, opts *Options) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, r.notAcquired(ctx, outcome{})
	}
	shared := r.manager.ownerOf(ctx)
	if err := r.deadlock(ctx, shared); err != nil {
		return nil, err
	}
	limited, cancel := opts.limit(ctx)
	if cancel != nil {
		defer cancel()
	}
	if shared == nil {
		h, err := r.turn(ctx, limited, nil, opts)
		if err == errAsking {
			ordinary := *opts
			ordinary.Cohort = 0
			return r.replicated(ctx, &ordinary)
		}
		return h, err
	}
	if !r.manager.life.enter() { // a re-entry is a request, for which Close waits
		return nil, r.lockError(lockerr.ErrClosed)
	}
	defer r.manager.life.leave()
	h, err := r.acquireShared(ctx, limited, shared, opts)
	if err != nil || opts.Replicas == 0 {
		return h, err
	}
	if _, again := h.backend.(*Grant); again { // a turn has the confirmation of its base
		return h, h.replicate(ctx, opts)
	}
	return h, nil
}

// turn waits for a turn. If the turn ends before its caller has it, turn waits for another one.
func (r *Ref) turn(ctx, limited context.Context, shared *owner, opts *Options) (*Hold, error) {
	for {
		t := &turn{cohort: r.manager.cohorts.of(r, opts), shared: shared}
		t.Hold = Hold{backend: t, parent: ctx, read: r.read, opts: opts}
		switch h, err := t.take(ctx, limited); {
		case err != nil:
			return nil, err
		case h == nil: // the cohort is gone, or the base was lost
		case shared == nil:
			return h, nil
		case t.adopt():
			return h, nil
		}
	}
}

// errAsking tells a reader that only tries that somebody else asks for the base: it asks for itself.
var errAsking = errors.New("another goroutine asks for the cohort")

// take takes the turn. It returns nil and no error if the caller has to take another one.
func (t *turn) take(ctx, limited context.Context) (*Hold, error) {
	c := t.cohort
	if !c.enter(t, t.opts.Wait != 0) {
		return nil, c.refusal(ctx)
	}
	if t.ordinary {
		return nil, errAsking
	}
	if t.told != nil {
		if err := t.wait(ctx, limited); err != nil {
			return nil, err
		}
	}
	if t.asks {
		if err := t.ask(ctx, limited); err != nil {
			return nil, err
		}
	}
	if t.base == nil || t.Ended() != nil {
		return nil, nil
	}
	return &t.Hold, nil
}

// ask asks for the base. The cohort learns of the end of that also if a log handler panics.
func (t *turn) ask(ctx, limited context.Context) error {
	var b *base
	defer func() { t.cohort.asked(t, b) }()
	var err error
	b, err = t.cohort.acquireBase(ctx, limited, t)
	return err
}

// wait waits until the turn is let in or is to ask for the base.
func (t *turn) wait(ctx, limited context.Context) error {
	c, left := t.cohort, false
	select {
	case <-t.told:
	case <-limited.Done():
		left = c.leave(t)
	}
	switch {
	case t.closed:
		return c.ref.lockError(lockerr.ErrClosed)
	case left:
		return c.refusal(ctx)
	case t.base != nil && ctx.Err() != nil: // what was granted in time counts, unless the caller has gone
		if _, err := t.end(ctx, false); err == nil {
			return c.refusal(ctx)
		}
	}
	return nil // a turn that asks when its time is over fails at once, and the next one asks
}

// refusal is the error of a turn that was not let in.
func (c *cohort) refusal(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var o outcome
	switch {
	case c.closed:
		return c.ref.lockError(lockerr.ErrClosed)
	case c.base != nil:
		g := c.base.hold.grant()
		o.holder, o.ttl = g.owner, time.Until(g.Deadline())
	}
	return c.ref.notAcquired(ctx, o)
}

// acquireBase acquires the next base, for a turn that asks.
func (c *cohort) acquireBase(ctx, limited context.Context, t *turn) (*base, error) {
	m, opts := c.ref.manager, *t.opts
	if !m.life.enter() {
		return nil, c.ref.lockError(lockerr.ErrClosed)
	}
	defer m.life.leave()
	if t.releases != nil && !t.replace(ctx, limited) {
		return nil, c.ref.notAcquired(ctx, outcome{})
	}
	if m.session != nil {
		m.session.Ready(limited)
	}
	opts.Tokens = c.block // nobody else changes it while this one asks
	g := m.newGrant(c.ref, nil, attempt{ctx: ctx, opts: &opts})
	g.requestSlot = make(chan struct{}, 1)
	hold, err := g.attempt.run(limited)
	if err != nil {
		return nil, err
	}
	if opts.Replicas > 0 {
		if err := hold.replicate(ctx, &opts); err != nil {
			_, failed := g.release(context.WithoutCancel(ctx), hold)
			return nil, errors.Join(err, failed)
		}
	}
	return newBase(c, hold, opts.Tokens), nil
}

// replace releases the old base. It reports false if the time of the caller is up before that is
// answered. The release goes on, and whoever asks next may come before its answer.
func (t *turn) replace(ctx, limited context.Context) bool {
	m := t.cohort.ref.manager
	m.queues.Offer(t.cohort.ref.queue, t.opts.Backoff)
	m.life.enterRelease() // as the caller is inside, so is this
	released := make(chan struct{})
	go func() {
		defer m.life.leave()
		_ = t.releases.release(ctx, false)
		close(released)
	}()
	select {
	case <-released:
		return true
	case <-limited.Done():
		return false
	}
}

// Unlock ends the turn. The next one begins at once, unless the owner has re-entered.
func (t *turn) Unlock(ctx context.Context, h *Hold) error {
	m := t.cohort.ref.manager
	held, err := t.end(ctx, false)
	switch {
	case held && m.settings.Observe != nil:
		e := h.event(t.cohort.ref, EventReleased)
		if e.Err = err; errors.Is(err, lockerr.ErrLost) {
			e.Loss = LossGone
		}
		m.observe(context.WithoutCancel(ctx), e)
	case errors.Is(err, lockerr.ErrReleased):
		if m.life.isClosing() {
			<-m.life.closed // Close releases every hold
		}
		return nil
	}
	return err
}

// Detach ends the turn. The base ends with its last turn, and Redis is not told.
func (t *turn) Detach(h *Hold) {
	if held, _ := t.end(context.Background(), true); held {
		t.cohort.ref.manager.observe(h.parent, h.event(t.cohort.ref, EventDetached))
	}
}

// end ends the turn, and releases the base if that was its last use. It reports whether the turn was
// held until then. An unconfirmed base is not passed on. Its release tells whether it was still held.
func (t *turn) end(ctx context.Context, detach bool) (held bool, err error) {
	ctx = detached(ctx)
	unconfirmed := t.base.hold.grant().Term().Over(time.Now())
	if unconfirmed {
		t.Expire() // first, so that a late release is not taken for a good one
	}
	inSlot := t.shared != nil && t.Ended() == nil
	alone := unconfirmed || t.base.hold.grant().inMinHold() // of a re-entry
	if inSlot {
		resigned, limited, leave := t.resign(ctx, !detach)
		defer leave()
		alone, ctx = alone || !resigned, limited
	}
	over, err := t.base.end(t, alone, detach)
	if err != nil {
		return false, err
	}
	switch life := &t.cohort.ref.manager.life; {
	case over:
		err = t.base.release(ctx, inSlot)
	case unconfirmed && !detach && life.enterRelease(): // other readers remain
		defer life.leave()
		err = t.base.hold.renew(ctx)
	}
	return true, err
}

func (t *turn) Expire() bool {
	t.base.hold.backend.Expire()
	return t.Ended() != nil
}

func (t *turn) Valid() bool          { return t.base.hold.backend.Valid() }
func (t *turn) Deadline() time.Time  { return t.base.hold.backend.Deadline() }
func (t *turn) Lease() time.Duration { return t.base.hold.backend.Lease() }
func (t *turn) Name() string         { return t.cohort.ref.Name }
func (t *turn) Owner() string        { return t.base.hold.backend.Owner() }
func (t *turn) Members() []*Hold     { return nil }

func (t *turn) Holding(k *Key) *Grant { return t.base.hold.backend.Holding(k) }

// firstToken is the first token of the block that the grant has taken. A re-entry gets the token of
// the turn.
func (g *Grant) firstToken(block int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token > 0 {
		g.token -= block - 1
	}
	return g.token
}

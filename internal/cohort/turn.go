package cohort

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// turn is the hold of one goroutine of a cohort. It is the backend of its own Hold. It asks its base,
// the cohort's hold in Redis, for all that Redis decides.
//
//	entering ──▶ in line ──▶ asking for the base ──▶ held ──▶ ended
//	    └──────────┴──────────────────────────────────▲
type turn struct {
	lock.Hold
	cohort *cohort
	told   chan struct{} // capacity one: it is to look again; nil unless it was in line
	looked chan struct{} // closed when the release is answered that it waits for before it asks, or has waited for

	// The cohort's mutex guards these until the turn is held.
	asks     bool  // it asks for a base
	releases *base // before it asks
	base     *base // that it is a turn of, once it is held
	place    int   // its index among the turns of the base
}

var _ lock.Backend = (*turn)(nil)

// Acquire takes a turn of the cohort of a lock. A cohort passes the lock on for as long as stay after Redis
// has granted it.
func (s *Set) Acquire(ctx context.Context, r *lock.Ref, opts *lock.Options, stay time.Duration) (*lock.Hold, error) {
	began := time.Now()
	if r.Manager().Owned(ctx) {
		return nil, &lockerr.ConfigError{Field: "WithCohort", Reason: "its hold serves one goroutine after another: it cannot be combined with Client.WithOwner"}
	}
	bound, end := pause.Bound(ctx)
	defer end()
	limited, cancel := opts.Limit(bound)
	if cancel != nil {
		defer cancel()
	}
	c := call{caller: ctx, ctx: bound, limited: limited, ref: r, opts: opts, began: began}
	h, err := c.acquire(s, stay)
	if err == errAlone {
		return r.Acquire(ctx, opts)
	}
	r.TellAcquired(ctx, h, began, err)
	return h, err
}

// errAlone tells a caller that only tries that the cohort has nothing for it now.
var errAlone = errors.New("the caller asks Redis itself, once")

// call is one acquisition.
type call struct {
	caller  context.Context
	ctx     context.Context // the caller's, or a child that runs no code of the caller: others may have to wait for it
	limited context.Context // the same, until the wait is over
	ref     *lock.Ref
	opts    *lock.Options
	began   time.Time
}

// acquire waits for a turn. If the turn ends before its caller has it, acquire waits for another one.
func (c *call) acquire(s *Set, stay time.Duration) (*lock.Hold, error) {
	var looked chan struct{}
	for {
		if err := c.mayBegin(); err != nil {
			return nil, err
		}
		t := &turn{cohort: s.of(c.ref, c.opts, stay), looked: looked}
		t.Init(t, c.caller, c.opts)
		if h, err := c.take(t); h != nil || err != nil {
			return h, err
		}
		looked = t.looked
	}
}

// mayBegin says why there is to be no turn for the caller, or nil.
func (c *call) mayBegin() error {
	switch {
	case c.ctx.Err() != nil:
		return c.ref.NotAcquired(c.ctx, nil)
	case c.ref.Manager().Stopped():
		return c.ref.Closed()
	}
	return c.ref.Deadlock(c.ctx)
}

// take takes the turn. It returns nil and no error if the caller has to take another one.
func (c *call) take(t *turn) (*lock.Hold, error) {
	switch t.cohort.enter(t, c.opts.Wait != 0) {
	case looks:
		select {
		case <-t.looked:
		case <-c.limited.Done():
			return nil, t.cohort.refusal(c.ctx)
		}
		return nil, nil
	case refused:
		return nil, t.cohort.refusal(c.ctx)
	case alone:
		return nil, errAlone
	case waits:
		if err := c.wait(t); err != nil {
			return nil, err
		}
	}
	if t.asks {
		if err := c.askFor(t); err != nil {
			return nil, err
		}
	}
	if t.base == nil || t.Ended() != nil {
		return nil, nil
	}
	return &t.Hold, nil
}

// wait waits until the turn is let in or is to ask for the base.
func (c *call) wait(t *turn) error {
	left := false
	select {
	case <-t.told:
	case <-c.limited.Done():
		left = t.cohort.leave(t)
	case <-c.ref.Manager().Stopping():
		left = t.cohort.leave(t)
	}
	switch {
	case left:
		return t.cohort.refusal(c.ctx)
	case t.base != nil && c.ctx.Err() != nil: // what was granted in time counts, unless the caller has gone
		if _, err := t.end(c.ctx, false); err == nil {
			return t.cohort.refusal(c.ctx)
		}
	}
	return nil // a turn that asks when its time is over fails at once, and the next one asks
}

// refusal is the error of a turn that was not let in.
func (c *cohort) refusal(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ref.Manager().Stopped():
		return c.ref.Closed()
	case c.base == nil:
		return c.ref.NotAcquired(ctx, nil)
	}
	return c.ref.NotAcquired(ctx, c.base.hold)
}

// askFor acquires the next base for a turn. The cohort learns of the end of that also if a driver
// ends the goroutine.
func (c *call) askFor(t *turn) error {
	var b *base
	defer func() { t.cohort.asked(t, b) }()
	if t.releases != nil && !c.replace(t) {
		return t.cohort.refusal(c.ctx)
	}
	opts := *c.opts
	opts.ForOthers, opts.Tokens = true, t.cohort.block // nobody else changes it while this one asks
	if opts.Wait != 0 && opts.Wait != lock.Forever {
		opts.Wait = max(opts.Wait-time.Since(c.began), time.Nanosecond)
	}
	hold, err := c.ref.Acquire(c.ctx, &opts)
	if err == nil {
		b = newBase(t.cohort, hold, &opts)
	}
	return err
}

// replace releases the old base. It reports false if the time of the caller is up before that is
// answered. The release goes on, and whoever asks next may come before its answer.
func (c *call) replace(t *turn) bool {
	c.ref.Offer(c.opts.Backoff)
	go func() {
		defer t.cohort.released(t.looked)
		_ = t.releases.release()
	}()
	select {
	case <-t.looked:
		return true
	case <-c.limited.Done():
		return false
	}
}

// Unlock ends the turn. The next one begins at once.
func (t *turn) Unlock(ctx context.Context, h *lock.Hold) error {
	m, now := t.cohort.ref.Manager(), time.Now()
	held, err := t.end(ctx, false)
	switch {
	case held:
		t.cohort.ref.TellEnd(ctx, h, lock.EventReleased, now, err)
	case errors.Is(err, lockerr.ErrReleased):
		if m.Closing() {
			<-m.Closed // Close releases every hold
		}
		return nil
	}
	return err
}

// Detach ends the turn. The base ends with its last turn, and Redis is not told.
func (t *turn) Detach(h *lock.Hold) {
	now := time.Now()
	if held, _ := t.end(context.Background(), true); held {
		t.cohort.ref.TellEnd(context.Background(), h, lock.EventDetached, now, nil)
	}
}

// end ends the turn, and releases the base if that was its last use. It reports whether the turn was
// held until then. An unconfirmed base is not passed on. Its release tells whether it was still held.
func (t *turn) end(ctx context.Context, detach bool) (held bool, err error) {
	hold := t.base.hold
	unconfirmed := !hold.InTime()
	if unconfirmed {
		t.Expire() // first, so that a late release is not taken for a good one
	}
	over, err := t.base.end(t, unconfirmed || detach, detach)
	switch {
	case err != nil:
		return false, err
	case over:
		err = t.base.release()
	case unconfirmed && !detach: // other readers remain
		err = hold.Renew(context.WithoutCancel(ctx))
	}
	return true, err
}

func (t *turn) Expire() bool {
	_ = t.base.hold.Err()
	return t.Ended() != nil
}

// WaitedFor is the owner that it waited for in Redis, or in line the cohort's own.
func (t *turn) WaitedFor(*lock.Hold) string {
	switch {
	case t.asks:
		return t.base.hold.WaitedFor()
	case t.told != nil:
		return t.base.hold.Owner()
	}
	return ""
}

func (t *turn) Valid() bool           { return t.base.hold.InTime() }
func (t *turn) Deadline() time.Time   { return t.base.hold.Deadline() }
func (t *turn) Lease() time.Duration  { return t.base.hold.Lease() }
func (t *turn) Name() string          { return t.cohort.ref.Name }
func (t *turn) Owner() string         { return t.base.hold.Owner() }
func (t *turn) Members() []*lock.Hold { return nil }

func (t *turn) Holding(k *lock.Key) *lock.Grant { return t.base.hold.Holding(k) }

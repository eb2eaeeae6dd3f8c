package lock

import (
	"context"
	"time"
)

// Backend stands behind a hold and decides about it: the grant of a single lock, or the group of
// several.
type Backend interface {
	// Expire says whether it has ended, and ends it if its time is over.
	Expire() bool
	// Valid says that the local deadline has not passed.
	Valid() bool
	Deadline() time.Time
	// Lease is how long it lasts without a renewal, measured from the last one.
	Lease() time.Duration
	Name() string
	Owner() string
	// Unlock releases the hold, and Detach ends it without telling Redis.
	Unlock(ctx context.Context, h *Hold) error
	Detach(h *Hold)
	// Holding is the grant by which it holds the lock of that key, or nil.
	Holding(k *Key) *Grant
	Members() []*Hold
	// WaitedFor is the owner that the acquisition of the hold has waited for, "" if that is not known.
	WaitedFor(h *Hold) string
}

var _ Backend = (*Grant)(nil)

func (g *Grant) Valid() bool          { return !g.Term().Over(time.Now()) }
func (g *Grant) Deadline() time.Time  { return g.Term().Deadline() }
func (g *Grant) Lease() time.Duration { return g.Term().Span(g.first.since) }
func (g *Grant) Name() string         { return g.ref.Name }
func (g *Grant) Owner() string        { return g.owner }
func (g *Grant) Members() []*Hold     { return nil }

func (g *Grant) WaitedFor(h *Hold) string {
	if h == &g.first && g.attempt.seen != nil {
		return *g.attempt.seen
	}
	return ""
}

func (g *Grant) Detach(h *Hold) {
	now := time.Now()
	if g.leave(h, nil) == nil && !h.forOthers {
		g.manager.observe(h.parent, h.event(g.ref, EventDetached, now))
	}
}

func (g *Grant) Holding(k *Key) *Grant {
	if *k == g.ref.key {
		return g
	}
	return nil
}

package multilock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
)

var _ lock.Backend = (*group)(nil)

// Name is that of the order: the names of the members.
func (g *group) Name() string { return g.name }

// Owner is empty: each member has its own.
func (g *group) Owner() string { return "" }

// Unlock releases all members.
func (g *group) Unlock(ctx context.Context, _ *lock.Hold) error { return g.release(ctx, g.close()) }

// Detach ends all members without telling Redis.
func (g *group) Detach(*lock.Hold) {
	_ = g.close()
	for _, h := range g.all() {
		h.Detach()
	}
}

// Expire asks each member first: one whose time is over ends now, and tells the group.
func (g *group) Expire() bool {
	for _, h := range g.all() {
		h.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	over := !g.end.IsZero() && (!now.Before(g.end) || !now.Round(0).Before(g.end.Round(0))) // on either clock
	if over && g.hold.Ended() == nil {
		g.finish(g.failed(fmt.Errorf("%w: %w", lockerr.ErrLost, renew.ErrExpired)))
	}
	return g.hold.Ended() != nil
}

// close ends the group as its holder wishes. It returns why the group had ended before, if it had.
func (g *group) close() error {
	g.Expire() // first, so that a late release is not taken for a good one
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.hold.Ended()
	if before == nil {
		g.finish(lockerr.ErrReleased)
	}
	return before
}

// Valid says that enough members are valid.
func (g *group) Valid() bool {
	valid := 0
	for _, h := range g.all() {
		if h.Valid() {
			valid++
		}
	}
	return valid >= g.need
}

// Deadline is when fewer members than needed are left if none is renewed, or the end of the whole
// if that is sooner. A group that has ended may have none.
func (g *group) Deadline() time.Time {
	var ends []time.Time
	for _, h := range g.alive() {
		ends = append(ends, h.Deadline())
	}
	if len(ends) < g.need {
		return time.Time{}
	}
	slices.SortFunc(ends, time.Time.Compare)
	last := ends[len(ends)-g.need]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end.IsZero() || last.Before(g.end) {
		return last
	}
	return g.end
}

// Lease is the shortest one of a member, or the longest time of the whole if that is shorter. Each
// member has a fixed lease of the whole (Confirm), whatever it was taken with.
func (g *group) Lease() time.Duration {
	lease := g.whole.Lease
	if g.whole.MaxHold > 0 {
		lease = min(lease, g.whole.MaxHold)
	}
	if g.whole.Fixed {
		return lease
	}
	for _, options := range g.each {
		lease = min(lease, options.Lease)
	}
	return lease
}

// WaitedFor is empty: each member may have waited for another.
func (g *group) WaitedFor(*lock.Hold) string { return "" }

// Holding is the grant by which a member holds the lock of that key, or nil.
func (g *group) Holding(k *lock.Key) *lock.Grant {
	for _, h := range g.alive() {
		if grant := h.Holding(k); grant != nil {
			return grant
		}
	}
	return nil
}

// Members are the holds of all members of a Multi, and of a Quorum those that are held now.
func (g *group) Members() []*lock.Hold {
	if g.need == len(g.entries) {
		return g.all()
	}
	return g.alive()
}

// alive are the members' holds that have not ended.
func (g *group) alive() []*lock.Hold {
	return slices.DeleteFunc(g.all(), func(h *lock.Hold) bool { return h.Ended() != nil })
}

// all are the members' holds, of those members that were ever held.
func (g *group) all() []*lock.Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	var holds []*lock.Hold
	for _, e := range g.entries {
		if e.hold != nil {
			holds = append(holds, e.hold)
		}
	}
	return holds
}

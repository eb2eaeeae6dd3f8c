package redlatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// keeper is what stands behind a hold and decides about it: the tenure of a single lock,
// or the group of a Multi or Quorum.
type keeper interface {
	// ended says whether it is over, and ends it if its time is.
	ended() bool
	// valid says that the local deadline has not passed.
	valid() bool
	deadline() time.Time
	// owned is the owner's name, and issued the fencing token.
	owned() string
	issued() int64
	// release gives the hold back, and detach gives it up without telling Redis.
	release(ctx context.Context, h *Hold) error
	detach(h *Hold)
	// holding is the tenure by which it holds what the key asks for, or nil.
	holding(key *heldKey) *tenure
	members() []*Hold
}

var (
	_ keeper = (*tenure)(nil)
	_ keeper = (*group)(nil)
)

func (t *tenure) valid() bool         { return !t.Term().Over(time.Now()) }
func (t *tenure) deadline() time.Time { return t.Term().Deadline() }
func (t *tenure) owned() string       { return t.owner }
func (t *tenure) members() []*Hold    { return nil }

func (t *tenure) issued() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token
}

func (t *tenure) release(ctx context.Context, h *Hold) error { return t.client.release(ctx, t, h) }

func (t *tenure) detach(h *Hold) {
	if remaining, err := t.drop(h); err == nil && remaining == 0 {
		t.leave()
		t.unprotect()
		t.client.hub.Wake(t.point.queue, t.waiter)
	}
}

func (t *tenure) holding(key *heldKey) *tenure {
	if *key == t.point.held {
		return t
	}
	return nil
}

func (g *group) owned() string { return "" }
func (g *group) issued() int64 { return 0 }

// ended asks each member first: one whose time is up ends now, and tells the group.
func (g *group) ended() bool {
	for _, h := range g.all() {
		h.keeper.ended()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	over := !g.end.IsZero() && (!now.Before(g.end) || !now.Round(0).Before(g.end.Round(0))) // on either clock
	if over && g.over() == nil {
		g.finish(fmt.Errorf("redlatch: %s %q: %w: %w", g.kind, g.name, ErrLost, renew.ErrExpired))
	}
	return g.over() != nil
}

func (g *group) valid() bool {
	valid := 0
	for _, h := range g.all() {
		if h.Valid() {
			valid++
		}
	}
	return valid >= g.need
}

// deadline is when fewer members than needed are left if none is renewed, or the end of the
// whole if that is sooner. A group that has ended may have none.
func (g *group) deadline() time.Time {
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

// all are the members' holds, of those members that were ever held.
func (g *group) all() []*Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	var holds []*Hold
	for _, s := range g.seats {
		if s.hold != nil {
			holds = append(holds, s.hold)
		}
	}
	return holds
}

// alive are the members' holds that have not ended.
func (g *group) alive() []*Hold {
	return slices.DeleteFunc(g.all(), func(h *Hold) bool { return h.over() != nil })
}

func (g *group) members() []*Hold {
	if g.need == len(g.seats) {
		return g.all()
	}
	return g.alive()
}

func (g *group) holding(key *heldKey) *tenure {
	for _, h := range g.alive() {
		if t := h.keeper.holding(key); t != nil {
			return t
		}
	}
	return nil
}

func (g *group) detach(*Hold) {
	_ = g.close()
	for _, h := range g.all() {
		h.Detach()
	}
}

// close ends the group as its holder wishes, and says why it had ended before that, if it
// had.
func (g *group) close() error {
	g.ended() // expire first, so that a late release is not taken for a good one
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.over()
	if before == nil {
		g.finish(ErrReleased)
	}
	return before
}

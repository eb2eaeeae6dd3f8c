package redlatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// group is what stands behind the hold of a Multi or a Quorum: the holds of its members,
// and how many of them it needs. It has no goroutine of its own: a member that ends tells
// it so (Hold.finish), with the mutex of that member's tenure held. Nothing here may thus
// take a tenure's mutex while it holds the group's.
//
//	asking ── form ──▶ formed ── close ─────────────────────▶ ended (ErrReleased)
//	   │                  └───── fewer held than needed ────▶ ended (what ended the member)
//	   └───── so many are missing that it cannot be formed ─▶ ended
//
// Members that remain when it is lost are renewed no more: they end with their leases, so
// that their holder has time to stop, or when it calls Unlock.
type group struct {
	kind, name string
	need       int
	hold       Hold

	// retake asks again for a member that is missing, on a goroutine of its own, and
	// reports by add or miss. It is called every so often while the group is formed. Nil:
	// nobody asks.
	retake func(i int)
	every  time.Duration

	mu     sync.Mutex
	seats  []groupSeat
	formed bool
	again  *time.Timer // of the next retake, nil while there is none to come
}

// groupSeat is the place of one member.
type groupSeat struct {
	hold  *Hold // nil if it never was held
	state seatState
}

type seatState int

const (
	asked   seatState = iota // the answer is still to come
	held                     // it counts
	spare                    // held, but it does not count before the group is formed
	missing                  // not held
)

// newGroup returns a group of n members that are still to be taken, for a hold below ctx.
func newGroup(ctx context.Context, kind, name string, n, need int) *group {
	g := &group{kind: kind, name: name, need: need, seats: make([]groupSeat, n)}
	below, cancel := context.WithCancelCause(ctx)
	g.hold = Hold{keeper: g, parent: ctx, cancel: cancel}
	g.hold.ctx = holdContext{below, &g.hold}
	return g
}

// below is the context under which members are taken: it ends with the group. It does not
// know yet of what the group holds.
func (g *group) below() context.Context { return g.hold.ctx.(holdContext).Context }

// count is how many members are in a state. The mutex is held.
func (g *group) count(state seatState) (n int) {
	for _, s := range g.seats {
		if s.state == state {
			n++
		}
	}
	return n
}

// add takes a member in that was granted, or reports that the group has ended: then the
// member's hold is to be given back. One that does not count joins when others are enough.
func (g *group) add(i int, h *Hold, counts bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over() != nil {
		return false
	}
	state := held
	if !counts && !g.formed {
		state = spare
	}
	g.seats[i] = groupSeat{h, state}
	if err := h.join(g); err != nil {
		g.lacks(i, err)
	}
	return true
}

// join makes the hold a member of g, or says why it has ended.
func (h *Hold) join(g *group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.whole = g
	return h.err
}

// miss takes note that a member was not granted.
func (g *group) miss(i int, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lacks(i, why)
}

// left takes note that a member's hold has ended. The mutex of its tenure is held.
func (g *group) left(h *Hold, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.seats, func(s groupSeat) bool { return s.hold == h })
	if i < 0 || g.seats[i].state == missing {
		return // it has been noticed, or another has taken its seat
	}
	if g.lacks(i, why) {
		// It waits for tenures' mutexes, of which one is held here.
		h.tenure().client.background.Go(g.abandon)
	}
}

// lacks empties a seat, and ends the group if it cannot do without. It reports whether
// the group was lost by that. The mutex is held.
func (g *group) lacks(i int, why error) (lost bool) {
	g.seats[i].state = missing
	switch {
	case g.over() != nil:
		return false
	case g.formed && g.count(held) < g.need, len(g.seats)-g.count(missing) < g.need:
		g.end(fmt.Errorf("redlatch: %s %q: %w", g.kind, g.name, why))
		return g.formed
	}
	g.plan()
	return false
}

// form makes the group a hold if enough members are held. Otherwise it reports false; more
// may be on their way, unless the group has ended.
func (g *group) form() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over() != nil || g.count(held) < g.need {
		return false
	}
	g.formed = true
	for i := range g.seats {
		if g.seats[i].state == spare {
			g.seats[i].state = held
		}
	}
	g.plan()
	return true
}

// over is why the group has ended, nil if it has not. The mutex is held.
func (g *group) over() error {
	g.hold.mu.Lock()
	defer g.hold.mu.Unlock()
	return g.hold.err
}

// end ends the group. The mutex is held.
func (g *group) end(why error) {
	g.hold.finish(why)
	if g.again != nil {
		g.again.Stop()
	}
}

// plan sees to it that missing members are asked for again. The mutex is held.
func (g *group) plan() {
	if g.retake != nil && g.formed && g.again == nil && g.count(missing) > 0 {
		g.again = time.AfterFunc(g.every, g.fill)
	}
}

// fill asks for the members that are missing.
func (g *group) fill() {
	g.mu.Lock()
	g.again = nil
	var seats []int
	for i := range g.seats {
		if g.seats[i].state == missing && g.over() == nil {
			g.seats[i].state = asked
			seats = append(seats, i)
		}
	}
	g.mu.Unlock()
	for _, i := range seats {
		g.retake(i)
	}
}

// alive are the members' holds that have not ended.
func (g *group) alive() []*Hold {
	return slices.DeleteFunc(g.all(), func(h *Hold) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.err != nil
	})
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

// abandon stops renewing what is left of a group that was lost.
func (g *group) abandon() {
	for _, h := range g.alive() {
		h.tenure().fix(h)
	}
}

// fix ends the renewal of a hold. The tenure is renewed for as long as it has others that
// are.
func (t *tenure) fix(h *Hold) {
	t.mu.Lock()
	h.want.fixed = true
	if t.end == nil {
		t.replan()
	}
	renewed := t.Term().Every > 0
	t.mu.Unlock()
	if !renewed {
		t.unprotect()
	}
}

// ended asks each member first: one whose time is up ends now, and tells the group.
func (g *group) ended() bool {
	for _, h := range g.all() {
		h.keeper.ended()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
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

// deadline is when fewer members than needed are left if none is renewed. Of a group that
// has ended it is that of the members it had.
func (g *group) deadline() time.Time {
	holds := g.alive()
	if len(holds) < g.need {
		holds = g.all()
	}
	ends := make([]time.Time, len(holds))
	for i, h := range holds {
		ends[i] = h.Deadline()
	}
	slices.SortFunc(ends, func(a, b time.Time) int { return b.Compare(a) })
	if len(ends) < g.need {
		return time.Time{}
	}
	return ends[g.need-1]
}

func (g *group) owned() string { return "" }
func (g *group) issued() int64 { return 0 }

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
	g.close()
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
		g.end(ErrReleased)
	}
	return before
}

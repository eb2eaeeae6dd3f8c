package redlatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// order is what a call of Lock asks of several locks as one.
type order struct {
	kind, name string
	parts      []member
	need       int       // members that must be held
	whole      request   // what the options ask of the whole
	wants      []request // what is asked of each member
	until      time.Time // the end of the wait; zero: only the context bounds it
}

// group is the backend of the hold of a Multi or a Quorum. It has a context, an end and a
// lease of its own. Its members are plain renewed holds under it.
//
// It has no goroutine of its own. A member that ends calls left, with the mutex of its tenure
// held. So nothing here may take a tenure's mutex while it holds the group's.
//
//	asking ── begin ─▶ confirming ─▶ formed ── close ──────▶ ended (ErrReleased)
//	   │                  │             └─ too few held ───▶ ended (what ended the member)
//	   └──────────────────┴─ too few can be held ──────────▶ ended
//
// Members that remain when the group is lost are not renewed any more. They end with their
// leases, so that their holder has time to stop, or with Unlock.
type group struct {
	order
	hold   Hold
	under  context.Context // under which members are held; it ends with the group
	cancel context.CancelCauseFunc
	news   chan struct{} // capacity one: something has changed
	heard  chan struct{} // closed when each member has answered once

	mu     sync.Mutex
	seats  []seat
	quiet  bool      // heard is closed
	begun  bool      // enough were granted: the lease of the whole counts
	formed bool      // enough are held
	end    time.Time // of the whole at the latest; zero: none
	unbind func() bool
	alarm  *time.Timer // of the end
	again  *time.Timer // of the next attempt to restore members; nil while there is none
	pause  time.Duration
}

// seat is the place of one member.
type seat struct {
	hold  *Hold // nil if it never was held
	state seatState
	young time.Duration // its server does not count for that long, unless the group is formed
	run   string        // the run_id of its server, where it was asked for
	why   error         // it is missing

	barred bool // it is not asked for again
}

type seatState int

const (
	asked   seatState = iota // the answer is still to come
	granted                  // held, the lease of the whole is not confirmed yet
	held                     // it counts
	missing                  // not held
)

// group starts an attempt to carry out the order. Until it is formed it ends with ctx.
func (o order) group(ctx context.Context) *group {
	g := &group{order: o, seats: make([]seat, len(o.parts)), pause: firstRestore}
	g.news, g.heard = make(chan struct{}, 1), make(chan struct{})
	g.hold = Hold{keeper: g, parent: ctx}
	g.under, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	g.enlist((*roster).enter)
	g.mu.Lock()
	defer g.mu.Unlock()
	ended := func() {
		if !g.formed && g.over() == nil {
			g.finish(context.Cause(ctx))
		}
	}
	g.unbind = context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		ended()
	})
	if ctx.Err() != nil {
		ended()
	}
	return g
}

// enlist enters a quorum in the rosters of its clients, or takes it out.
func (g *group) enlist(do func(*roster, *group)) {
	if g.need < len(g.seats) {
		for _, part := range g.parts {
			do(&part.client.roster, g)
		}
	}
}

// note lets whoever waits look again. The mutex is held.
func (g *group) note() {
	select {
	case g.news <- struct{}{}:
	default:
	}
	if !g.quiet && !slices.ContainsFunc(g.seats, func(s seat) bool { return s.state == asked }) {
		g.quiet = true
		close(g.heard)
	}
}

// count is how many members are in one of these states and count. The mutex is held.
func (g *group) count(states ...seatState) (n int) {
	for _, s := range g.seats {
		if slices.Contains(states, s.state) && (g.formed || s.young == 0) {
			n++
		}
	}
	return n
}

// add takes in a member that was granted. It gives the member back if the group has ended.
func (g *group) add(i int, h *Hold, of origin) {
	g.mu.Lock()
	if g.over() != nil {
		g.seats[i].state = missing
		g.note()
		g.mu.Unlock()
		_ = h.Unlock(context.Background())
		return
	}
	g.seats[i] = seat{hold: h, state: granted, young: of.young, run: of.run}
	twin := g.twin(i)
	if twin >= 0 {
		g.bar(i, twin)
	} else if err := h.join(g); err != nil {
		g.lacks(i, err)
	} else {
		g.weigh(errYoung)
	}
	begun := g.begun && g.over() == nil
	g.note()
	g.mu.Unlock()
	switch {
	case twin >= 0:
		_ = h.Unlock(context.Background())
	case begun:
		g.confirm(i, h)
	}
}

// bar shuts out a member for good that is on the server of another. A group that is not formed
// is refused. The mutex is held.
func (g *group) bar(i, twin int) {
	why := sameRun(g.parts[twin], g.parts[i])
	g.seats[i] = seat{state: missing, why: why, barred: true}
	if !g.formed && g.over() == nil {
		g.finish(why)
	}
}

var errYoung = errors.New("its servers were restarted a short while ago")

// join makes the hold a member of g, or says why it has ended.
func (h *Hold) join(g *group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.whole = g
	return h.err
}

// miss takes note that a member was not granted, or not confirmed.
func (g *group) miss(i int, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lacks(i, why)
}

// left takes note that a member's hold has ended. The mutex of its tenure is held.
func (g *group) left(h *Hold, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.seats, func(s seat) bool { return s.hold == h })
	if i >= 0 && g.seats[i].state != missing && g.over() == nil {
		g.pause = firstRestore
		g.lacks(i, why)
	}
}

// lacks empties a seat. The mutex is held.
func (g *group) lacks(i int, why error) {
	g.seats[i].state, g.seats[i].why = missing, why
	g.weigh(why)
	g.plan()
	g.note()
}

// weigh ends the group if it has too few members, or cannot come to have enough. The mutex is
// held.
func (g *group) weigh(why error) {
	have := g.count(held)
	if !g.formed {
		have = g.count(asked, granted, held)
	}
	if have < g.need && g.over() == nil {
		g.finish(fmt.Errorf("redlatch: %s %q: %w", g.kind, g.name, why))
	}
}

// await waits until as many members as needed are in one of these states. It reports false
// when ctx or the group has ended before.
func (g *group) await(ctx context.Context, states ...seatState) bool {
	for {
		g.ended() // a member that was only just held is not
		g.mu.Lock()
		over, enough := g.over() != nil, g.count(states...) >= g.need
		g.mu.Unlock()
		if over || enough {
			return !over
		}
		select {
		case <-g.news:
		case <-ctx.Done():
			return false
		}
	}
}

// form makes a group of which enough members are granted a hold. From here on the lease and
// the end of the whole count.
func (g *group) form(ctx context.Context) bool {
	g.begin(time.Now())
	if !g.await(ctx, held) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over() != nil || g.count(held) < g.need {
		return false
	}
	g.formed = true
	g.unbind()
	if !g.end.IsZero() {
		g.alarm = time.AfterFunc(time.Until(g.end), func() { g.ended() })
	}
	g.plan()
	return true
}

// begin sets the end of the whole, and has the members that were granted confirmed.
func (g *group) begin(now time.Time) {
	g.mu.Lock()
	g.begun, g.end = true, g.whole.until(now)
	if fixed := now.Add(g.whole.lease); g.whole.fixed && (g.end.IsZero() || fixed.Before(g.end)) {
		g.end = fixed
	}
	seats := slices.Clone(g.seats)
	g.mu.Unlock()
	for i, s := range seats {
		switch {
		case s.state != granted:
		case !g.whole.confirms():
			g.confirm(i, s.hold)
		default:
			g.send(i, func() { g.confirm(i, s.hold) })
		}
	}
}

// confirm makes a member that was granted count, once it is held for the lease of the whole.
func (g *group) confirm(i int, h *Hold) {
	if err := h.confirm(g.under, g.whole, g.end); err != nil {
		g.miss(i, err)
		_ = h.Unlock(context.Background())
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seats[i].hold == h && g.seats[i].state == granted {
		g.seats[i].state = held
		g.note()
	}
}

// send has something done about a member, on a goroutine that its client waits for when it
// closes.
func (g *group) send(i int, do func()) {
	c := g.parts[i].client
	if !c.gate.enter() {
		g.miss(i, fmt.Errorf("redlatch: lock %q: %w", g.parts[i].point.name, ErrClosed))
		return
	}
	go func() {
		defer c.gate.leave()
		do()
	}()
}

// over is why the group has ended, nil if it has not. The mutex is held.
func (g *group) over() error {
	g.hold.mu.Lock()
	defer g.hold.mu.Unlock()
	return g.hold.err
}

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

	mu     sync.Mutex
	seats  []seat
	begun  bool        // enough were granted: the lease of the whole counts
	formed bool        // enough are held
	end    time.Time   // of the whole at the latest; zero: none
	unbind func() bool // from what ends it by itself: the caller's context, then its end
	again  *time.Timer // of the next attempt to restore members; nil while there is none
	pause  time.Duration
}

// seat is the place of one member.
type seat struct {
	hold  *Hold // nil if it never was held
	state seatState
	young time.Duration // its server does not count for that long, unless the group is formed
	why   error         // it is missing
	late  bool          // it is since the group had ended
}

type seatState int

const (
	asked   seatState = iota // the answer is still to come
	granted                  // held, but the lease of the whole is to be confirmed
	held                     // it counts
	missing                  // not held
)

// group starts an attempt to carry out the order. Until it is formed it ends with ctx.
func (o order) group(ctx context.Context) *group {
	g := &group{order: o, seats: make([]seat, len(o.parts)), pause: firstRestore}
	g.news = make(chan struct{}, 1)
	g.hold = Hold{keeper: g, parent: ctx}
	g.under, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, part := range g.parts {
		if g.kind == "quorum" {
			part.client.quorums.Store(g, nil)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unbind = context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.formed && g.over() == nil {
			g.finish(context.Cause(ctx))
		}
	})
	return g
}

// note lets whoever waits look again. The mutex is held.
func (g *group) note() {
	select {
	case g.news <- struct{}{}:
	default:
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

// add takes in a member that was granted. It reports false if the group has ended: then the
// member must be given back.
func (g *group) add(i int, h *Hold, young time.Duration) bool {
	g.mu.Lock()
	if g.over() != nil {
		g.mu.Unlock()
		return false
	}
	g.seats[i] = seat{hold: h, state: held, young: young}
	if g.whole.confirms() {
		g.seats[i].state = granted
	}
	if err := h.join(g); err != nil {
		g.lacks(i, err)
	} else {
		g.weigh(errYoung)
	}
	confirm := g.begun && g.seats[i].state == granted && g.over() == nil
	g.note()
	g.mu.Unlock()
	if confirm {
		g.confirm(i, h)
	}
	return true
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
	g.seats[i].state, g.seats[i].why, g.seats[i].late = missing, why, g.over() != nil
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
	over := false
	return g.look(ctx, func() bool {
		over = g.over() != nil
		return over || g.count(states...) >= g.need
	}) && !over
}

// look waits until something is so, which it asks with the mutex held. It reports false when
// ctx has ended before.
func (g *group) look(ctx context.Context, so func() bool) bool {
	for {
		g.ended() // a member that was only just held is not
		g.mu.Lock()
		is := so()
		g.mu.Unlock()
		if is {
			return true
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
		g.unbind = time.AfterFunc(time.Until(g.end), func() { g.ended() }).Stop
	}
	g.plan()
	return true
}

// begin sets the end of the whole, and has the members that were granted confirmed.
func (g *group) begin(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun, g.end = true, g.whole.until(now)
	if fixed := now.Add(g.whole.lease); g.whole.fixed && (g.end.IsZero() || fixed.Before(g.end)) {
		g.end = fixed
	}
	for i, s := range g.seats {
		if s.state == granted {
			g.send(i, func() { g.confirm(i, s.hold) })
		}
	}
}

// confirm makes a member that was granted count, once it is held for the lease of the whole. By the
// time of the answer another hold may have its seat.
func (g *group) confirm(i int, h *Hold) {
	err := h.confirm(g.under, g.whole, g.end)
	g.mu.Lock()
	switch its := g.seats[i].hold == h && g.seats[i].state == granted; {
	case its && err != nil:
		g.lacks(i, err)
	case its:
		g.seats[i].state = held
		g.note()
	}
	g.mu.Unlock()
	if err != nil {
		_ = h.Unlock(context.Background())
	}
}

// send has something done about a member, on a goroutine that its client waits for when it
// closes.
func (g *group) send(i int, do func()) {
	c := g.parts[i].client
	go func() {
		if !c.gate.enter() {
			g.miss(i, fmt.Errorf("redlatch: lock %q: %w", g.parts[i].point.name, ErrClosed))
			return
		}
		defer c.gate.leave()
		do()
	}()
}

// over is why the group has ended, nil if it has not.
func (g *group) over() error { return g.hold.over() }

// over is why the hold has ended so far, whatever the time is.
func (h *Hold) over() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

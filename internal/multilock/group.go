package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/signal"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// group is the backend of the hold of a Multi or a Quorum. It has a context, an end and a lease
// of its own. Its members are plain renewed holds under it. It has no
// goroutine of its own, but for members that are missing because another has them (watch).
//
//	asking ── begin ─▶ confirming ─▶ formed ── Unlock ─────▶ ended (ErrReleased)
//	   │                  │             └─ too few held ───▶ ended (what ended the member)
//	   └──────────────────┴─ too few can be held ──────────▶ ended
//
// Members that remain when the group is lost are not renewed any more. They end with their
// leases, so that their holder has time to stop, or with Unlock.
type group struct {
	order
	hold   lock.Hold
	under  context.Context // under which members are held; it ends with the group
	cancel context.CancelCauseFunc
	news   chan struct{} // capacity one: something has changed

	mu      sync.Mutex
	entries []entry     // by member
	begun   bool        // enough were granted: the lease of the whole counts
	formed  bool        // enough are held
	end     time.Time   // of the whole at the latest; zero: no limit
	unbind  func() bool // from what ends it by itself: the caller's context, then its end
	again   *time.Timer // of the next attempt to restore members; nil while there is none
	backoff pause.Backoff
	watched []bool // by member: it is missing, and its lock is waited for
}

// group starts an attempt to carry out the order, for a hold below the caller's context. Until it is formed it ends with
// ctx, which runs no code of the caller.
func (o order) group(caller, ctx context.Context) *group {
	g := &group{order: o, entries: make([]entry, len(o.Members)), watched: make([]bool, len(o.Members))}
	g.backoff = pause.Backoff{First: firstRestore, Max: longestRestore(o.Members[0].Locks.Every(o.each[0].Lease))}
	g.news = make(chan struct{}, 1)
	under := context.WithoutCancel(ctx)
	if g.kind == "Multi" { // it waits for one member while it holds others
		under = lock.Below(under, g.alive)
	}
	g.under, g.cancel = context.WithCancelCause(under)
	g.hold.Init(g, caller, &o.whole)
	for _, m := range g.Set.Members {
		if g.kind == "Quorum" {
			m.quorums.Store(g, nil)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unbind = context.AfterFunc(ctx, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.formed && g.hold.Ended() == nil {
			g.cancel(context.Cause(ctx)) // which the errors of members may say
			g.finish(context.Cause(ctx))
		}
	})
	return g
}

// form makes a group of which enough members are granted a hold. From here on the lease and the
// end of the whole count. It takes over the waiters of a lookout, if there was one, for the members that others hold.
func (g *group) form(ctx context.Context, stood []*waitqueue.Waiter) bool {
	g.begin(time.Now())
	if !g.await(ctx, held) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hold.Ended() != nil || g.count(held) < g.need {
		return false
	}
	g.formed = true
	g.unbind()
	if !g.end.IsZero() {
		g.unbind = time.AfterFunc(time.Until(g.end), func() { g.Expire() }).Stop
	}
	g.planRestore(stood)
	return true
}

// begin sets the end of the whole, and has the members that were granted confirmed.
func (g *group) begin(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun, g.end = true, g.whole.Until(now)
	if fixed := now.Add(g.whole.Lease); g.whole.Fixed && (g.end.IsZero() || fixed.Before(g.end)) {
		g.end = fixed
	}
	for i, e := range g.entries {
		if e.state == granted {
			go g.confirm(i, e.hold)
		}
	}
}

// await waits until as many members as needed are in one of these states. It reports false when
// ctx or the group has ended before.
func (g *group) await(ctx context.Context, states ...state) bool {
	over := false
	return g.wait(ctx, func() bool {
		over = g.hold.Ended() != nil
		return over || g.count(states...) >= g.need
	}) && !over
}

// wait waits until something is so, which it asks with the mutex held. It reports false when ctx
// has ended before.
func (g *group) wait(ctx context.Context, so func() bool) bool {
	for {
		g.Expire() // a member that was only just held is not
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

// inside does something about a member for which its client waits when it closes. The observer is
// told outside of that, because it may close the client.
func (g *group) inside(i int, do func() error) error {
	m := g.Set.Members[i]
	if !m.Locks.Enter() {
		return fmt.Errorf("redlatch: lock %q: %w", m.Ref.Name, lockerr.ErrClosed)
	}
	defer m.Locks.Leave()
	return do()
}

// add takes in a member that was granted. It reports false if the group has ended: then the
// member must be released.
func (g *group) add(i int, h *lock.Hold, quarantine time.Duration) bool {
	g.mu.Lock()
	if g.hold.Ended() != nil {
		g.mu.Unlock()
		return false
	}
	g.entries[i] = entry{hold: h, state: held, quarantine: quarantine}
	if g.confirms() {
		g.entries[i].state = granted
	}
	if err := h.Join(g); err != nil {
		g.drop(i, err)
	} else {
		g.hold.Recall(h.RecallErr())
		g.check(errQuarantined)
	}
	confirm := g.begun && g.entries[i].state == granted && g.hold.Ended() == nil
	signal.Send(g.news)
	g.mu.Unlock()
	if confirm {
		g.confirm(i, h)
	}
	return true
}

var errQuarantined = errors.New("its servers were restarted a short while ago")

// confirm makes a member that was granted count, once it is held for the lease of the whole. By
// the time of the answer another hold may have its place.
func (g *group) confirm(i int, h *lock.Hold) {
	err := g.inside(i, func() error { return h.Confirm(g.under, g.whole, g.end) })
	g.mu.Lock()
	switch its := g.entries[i].hold == h && g.entries[i].state == granted; {
	case its && err != nil:
		g.drop(i, err)
	case its:
		g.entries[i].state = held
		signal.Send(g.news)
	}
	over := g.hold.Ended() != nil // whoever ends the group releases all of it, and waits for that
	g.mu.Unlock()
	if err != nil && !over {
		_ = h.Unlock(g.under)
	}
}

// miss takes note that a member was not granted, or not confirmed.
func (g *group) miss(i int, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(i, why)
}

// MemberEnded takes note that a member's hold has ended.
func (g *group) MemberEnded(h *lock.Hold, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.entries, func(e entry) bool { return e.hold == h })
	if i >= 0 && g.entries[i].state != missing && g.hold.Ended() == nil {
		g.backoff.Reset()
		g.drop(i, why)
	}
}

// MemberRecalled takes note that a member was recalled: somebody asks for the whole.
func (g *group) MemberRecalled(_ *lock.Hold, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold.Recall(why)
}

// drop takes note that a member is missing. The mutex is held.
func (g *group) drop(i int, why error) {
	e := &g.entries[i]
	e.state, e.why, e.since, e.late = missing, why, time.Now(), g.hold.Ended() != nil
	g.check(g.Set.Members[i].at(why))
	g.planRestore(nil)
	signal.Send(g.news)
}

// check ends the group if it has too few members, or cannot come to have enough. The mutex is
// held.
func (g *group) check(why error) {
	have := g.count(held)
	if !g.formed {
		have = g.count(granted, held) + g.awaited()
	}
	if have < g.need && g.hold.Ended() == nil {
		g.finish(g.failed(why))
	}
}

// awaited is how many members may still be granted. Beside a rival that was granted one, a vote does not wait for servers that
// are all silent: each would keep the other from a majority. But if those that say nothing are a majority, it waits, because
// that is an outage. The mutex is held.
func (g *group) awaited() int {
	rival, heard, open := false, false, 0
	for i, e := range g.entries {
		switch {
		case errors.Is(e.why, lockerr.ErrNotAcquired):
			rival = true
		case e.state == asked:
			heard = heard || !g.Set.Members[i].Locks.Silent()
			open++
		case e.state == missing:
			open++
		}
	}
	if rival && !heard && open <= len(g.entries)-g.need {
		return 0
	}
	return g.count(asked)
}

// count is how many members are in one of these states and count. The mutex is held.
func (g *group) count(states ...state) (n int) {
	for _, e := range g.entries {
		if slices.Contains(states, e.state) && (g.formed || e.quarantine == 0) {
			n++
		}
	}
	return n
}

// errOver is the cause for the members of an attempt that ends without a hold: the error of one says what became of it,
// and not of another one, whose refusal may have ended the attempt.
var errOver = errors.New("the attempt is over")

// finish ends the group. The mutex is held.
func (g *group) finish(why error) {
	g.hold.End(why)
	if g.formed {
		g.cancel(why)
	}
	g.cancel(errOver)
	for _, m := range g.Set.Members {
		m.quorums.Delete(g)
	}
	g.unbind()
	if g.formed && why != lockerr.ErrReleased {
		// It takes the mutexes of grants, of which the caller may hold one.
		g.Set.Members[0].Locks.Go(g.stopRenewals)
	}
	signal.Send(g.news)
}

// stopRenewals stops the renewal of what is left of a group that was lost.
func (g *group) stopRenewals() {
	for _, h := range g.alive() {
		h.StopRenewal()
	}
}

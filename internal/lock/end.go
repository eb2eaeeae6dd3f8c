package lock

import (
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
)

// leave ends one hold without telling Redis. See end.
func (g *Grant) leave(h *Hold, bound func(h *Hold) error) error {
	g.Expire()
	g.mu.Lock()
	err := g.end(h, bound)
	over := err == nil && g.ended != nil
	g.left = g.left || over
	g.mu.Unlock()
	if over {
		g.forget()
	}
	return err
}

// end ends one hold, as its holder wishes. With the last one the grant ends. It also ends if the time
// of all that remain is over, which are then lost. The error is that of a hold that had ended before, or why the
// hold may not end, if that is asked. The mutex is held.
func (g *Grant) end(h *Hold, bound func(h *Hold) error) error {
	if h.err != nil {
		return h.err
	}
	if bound != nil {
		if err := bound(h); err != nil {
			return err
		}
	}
	g.ends.Add(1)
	g.holds = slices.DeleteFunc(g.holds, func(other *Hold) bool { return other == h })
	switch limit := g.term().Until; {
	case len(g.holds) == 0:
		g.finish(lockerr.ErrReleased)
	case !limit.IsZero() && !time.Now().Before(limit):
		g.lose(renew.ErrExpired)
	default:
		if g.counts().Writes == 0 {
			g.manager.holders.reads(g)
		}
		g.replan()
	}
	h.End(lockerr.ErrReleased)
	return nil
}

// close ends the grant with all its holds. It reports false if the grant had ended before.
func (g *Grant) close(why error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return false
	}
	g.finish(why)
	return true
}

// endAtClose is close, as the client closes, and makes the request that tells Redis. A hold whose time is over is lost, and
// its lock is released all the same.
func (g *Grant) endAtClose() (e ending, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended != nil:
		return e, false
	case len(g.holds) > 0 && g.overdue():
		g.lose(renew.ErrExpired)
	default:
		g.finish(lockerr.ErrReleased)
	}
	return g.ending(), true
}

// Lost ends the grant with ErrLost. The renewal engine calls it. A second call does nothing. Redis is
// told if it may keep the lock for longer than the holds were to last. A lock whose lease was not
// renewed ends by itself, with its note, and until then its holder has time to stop.
func (g *Grant) Lost(why error) { g.lostIf(why, func() bool { return true }) }

// lostIf is Lost if that is so, and says whether the grant has ended. The mutex is held while it is asked.
func (g *Grant) lostIf(why error, so func() bool) bool {
	g.mu.Lock()
	now := g.ended == nil && so()
	stays := now && why == renew.ErrExpired && g.Term().Outlasts(g.unsure, time.Now())
	if now {
		g.lose(why)
	}
	ended := g.ended != nil
	g.mu.Unlock()
	if stays {
		g.manager.settleAside(make(chan bool, 1), g)
	}
	if now {
		g.forget()
	}
	return ended
}

// forget wakes who waits for a grant that has ended without a request.
func (g *Grant) forget() {
	g.manager.queues.Wake(g.ref.queue, g.attempt.waiter)
	g.manager.keepAlive.Wake(g.ref.Lock, false)
}

// lose ends the grant with ErrLost. The mutex is held.
func (g *Grant) lose(why error) {
	m, first, term := g.manager, &g.first, g.Term()
	event := first.event(g.ref, EventLost, time.Now())
	event.Loss = loss(term, why)
	switch {
	case event.Loss == LossEnded && term.Final():
		why = errMaxHold
	case event.Loss == LossEnded:
		why = errFixedLease
	}
	err := g.ref.lostError(g.ref.noun(), why)
	event.Err, g.gone = err, g.gone || !errors.Is(why, renew.ErrExpired)
	m.losses.Add(1) // before anybody can learn of the loss and look at the count
	g.finish(err)
	m.reporter.Add(func() {
		m.Logger.Warn("redlatch: hold lost", "lock", g.ref.Name, "owner", g.owner, "held", event.Took, "reason", why)
		m.observe(first.parent, event)
	})
}

// finish ends the grant with all holds that are left, and takes it out of the books: the renewal
// engine, the session, the holders of its lock and its owner's table. The mutex is held.
func (g *Grant) finish(why error) {
	g.ended = why
	for _, h := range g.holds {
		h.End(why)
	}
	g.holds = nil
	g.manager.engine.Remove(&g.Item)
	g.protect()
	g.manager.holders.leave(g)
	if g.shared != nil {
		g.shared.forget(g)
	}
	g.manager.Ended()
}

// mayLastUntil takes note that Redis may keep the lock until then. The mutex is held.
func (g *Grant) mayLastUntil(end time.Time) {
	if end.After(g.unsure) {
		g.unsure = end
	}
}

// outlives is mayLastUntil, and says that the grant has been lost meanwhile and Redis is to be told, as Lost would.
func (g *Grant) outlives(end time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mayLastUntil(end)
	return errors.Is(g.ended, renew.ErrExpired) && g.Term().Outlasts(g.unsure, time.Now())
}

// outlived takes note that Redis may keep the lock for a lease from now on. If it outlives the grant, Redis is told.
func (g *Grant) outlived(lease time.Duration) {
	if g.outlives(time.Now().Add(lease)) {
		g.manager.compensate(g)
	}
}

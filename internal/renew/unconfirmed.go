package renew

import (
	"time"

	"github.com/redlatch/redlatch/internal/signal"
)

// Guard is somebody who renews the items of an engine while its process is paused. The zero
// value stands for nobody.
type Guard struct {
	// Alive says whether the guard was alive when it was last heard of. It must not block,
	// nor call the engine. Nil means never.
	Alive func() bool
	// Gap is how late the loop wakes after a pause that may have cost a lease. A shorter
	// delay is taken for a busy machine.
	Gap time.Duration
	// Bound is for how long after a pause the engine asks about items whose time ran out.
	Bound time.Duration
}

// noticePause notices a pause: the loop wakes much later than it was to, or the clocks say that
// the machine was suspended. The mutex is held.
func (e *Engine) noticePause(now time.Time, jumped bool) {
	late := !e.wakeAt.IsZero() && now.Sub(e.wakeAt) > e.guard.Gap
	if jumped || late {
		e.resume(now)
	}
	e.wakeAt = now
}

// resume begins the time in which items may be unconfirmed. The mutex is held.
func (e *Engine) resume(now time.Time) {
	if e.guard.Alive != nil && e.guard.Alive() {
		e.resumed = now
	}
}

// over says that a term has ended for good. The mutex is held.
func (e *Engine) over(term Term, now time.Time) bool {
	return term.Over(now) && !now.Before(e.unconfirmedUntil(term))
}

// end is the moment at which a term will be over for good, as far as is known now. The mutex is
// held.
func (e *Engine) end(term Term, now time.Time) time.Time {
	if term.Over(now) && !e.over(term, now) {
		return e.unconfirmedUntil(term)
	}
	return term.Deadline()
}

// unconfirmedUntil is until when a term whose deadline has passed is unconfirmed: the guard may
// have extended it, and the engine asks Redis. It is zero if a request that was sent since the
// pause has been confirmed. The mutex is held.
func (e *Engine) unconfirmedUntil(term Term) time.Time {
	end := e.resumed.Add(e.guard.Bound)
	switch {
	case !term.renewed() || !term.Asked.Before(e.resumed):
		return time.Time{}
	case term.stop().IsZero():
		return end
	}
	return earlier(end, term.stop())
}

// tick is how often the loop wakes at least while there are items. With a guard it wakes more
// often, so that a late wake-up shows that the process was paused.
func (e *Engine) tick() time.Duration {
	if e.guard.Alive == nil {
		return signal.Interval(tick)
	}
	return min(tick, e.guard.Gap/4)
}

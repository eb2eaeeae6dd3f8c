package renew

import "time"

// Guard is somebody who renews the items of an engine while its process is paused. The
// zero value is nobody.
type Guard struct {
	// Alive says whether there was somebody, when last heard of. It must not block, nor
	// call the engine. Nil is never.
	Alive func() bool
	// Gap is how late the loop wakes after a pause that may have cost a lease. Less is
	// taken for the machine being busy.
	Gap time.Duration
	// Bound is for how long after a pause the engine asks about items whose time ran out.
	Bound time.Duration
}

// tick is how often the loop wakes at least, while there are items. A guarded one has to
// know of a pause that it was one, and not an event that was far away.
func (e *Engine) tick() time.Duration {
	if e.guard.Alive == nil {
		return tick
	}
	return min(tick, e.guard.Gap/4)
}

// look takes note of a pause: the loop is here much later than it was to be, or the clocks say
// that the machine was suspended. The mutex is held.
func (e *Engine) look(now time.Time, jumped bool) {
	late := !e.wakeAt.IsZero() && now.Sub(e.wakeAt) > e.guard.Gap
	if jumped || late {
		e.paused(now)
	}
	e.wakeAt = now
}

// paused begins the time in which items may be doubtful. The mutex is held.
func (e *Engine) paused(now time.Time) {
	if e.guard.Alive != nil && e.guard.Alive() {
		e.resumed = now
	}
}

// doubtEnd is until when a term whose deadline has passed is doubtful: it may have been
// extended by the guard, and is to be asked for. Zero if it is not: something that was asked
// since the pause has been answered. The mutex is held.
func (e *Engine) doubtEnd(term Term) time.Time {
	end := e.resumed.Add(e.guard.Bound)
	switch {
	case !term.renewed() || !term.Asked.Before(e.resumed):
		return time.Time{}
	case term.Until.IsZero():
		return end
	}
	return earlier(end, term.Until)
}

// over says that a term has ended for good. The mutex is held.
func (e *Engine) over(term Term, now time.Time) bool {
	return term.Over(now) && !now.Before(e.doubtEnd(term))
}

// end is the moment at which a term will be over for good, as things are now. The mutex
// is held.
func (e *Engine) end(term Term, now time.Time) time.Time {
	if term.Over(now) && !e.over(term, now) {
		return e.doubtEnd(term)
	}
	return term.Deadline()
}

package sim

import (
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// What is promised while there is no fault: nobody sleeps while the lock could be had. Before the first fault, no hold stays
// in Redis that nobody has.

// quiet checks that.
func (w *World) quiet(now time.Time) {
	if w.plan.Servers > 1 && w.spare == nil {
		return
	}
	well := w.well(now)
	if well.IsZero() && len(w.asking) == 0 && w.silent() && (w.plan.Cohort == 0 || now.Sub(w.ended) > linger) {
		w.checkGhosts()
	}
	for a, want := range w.asking {
		patience := 60*w.plan.Delay + 300*time.Millisecond
		if !well.IsZero() || w.unannounced[want.lock.Name] { // no message may have come: the waiter polls
			patience += w.plan.config().PollCap + 2*w.plan.timeout() + time.Second
		}
		if !w.free(want) {
			want.free = time.Time{}
		} else if want.free.IsZero() {
			want.free = now
		} else if now.Sub(later(want.free, well)) > patience {
			w.violate("%s waits for %s, which has been free for %v", a.name, want.lock.side(want.read), now.Sub(want.free))
		}
	}
}

// well is when the faults so far are all over, zero if there was none.
func (w *World) well(now time.Time) (well time.Time) {
	for _, f := range w.plan.Faults {
		if at := w.began.Add(f.At); !at.After(now) {
			well = later(well, at.Add(f.For+f.Other))
		}
	}
	return well
}

// linger is longer than a cohort keeps a lock that none of it wants.
const linger = 11 * time.Millisecond

// silent says that no call is under way.
func (w *World) silent() bool {
	for _, p := range w.lives {
		for _, l := range p.links {
			for _, c := range l.conns {
				if len(c.calls) > 0 {
					return false
				}
			}
		}
	}
	return true
}

// checkGhosts: whoever stands in Redis as a holder holds, or has left without a word.
func (w *World) checkGhosts() {
	known := map[string]bool{"mode": true}
	for _, b := range w.beliefs {
		for _, h := range singles(b.hold) {
			known[h.Owner()], known[protocol.WriterField(h.Owner())] = true, true
		}
	}
	for _, s := range w.servers {
		s.tick()
		for _, key := range s.mini.Miniredis.Keys() {
			if s.mini.Type(key) != "hash" || strings.HasPrefix(key, "redlatch:") {
				continue
			}
			fields, _ := s.mini.HKeys(key)
			for _, field := range fields {
				if !known[field] && !w.forgotten[strings.TrimSuffix(field, ":write")] {
					w.violate("%s stands in %s, and does not hold it", field, key)
				}
			}
		}
	}
}

// free says that the lock could be granted to who wants it.
func (w *World) free(want *belief) bool {
	m := w.home(want.lock.Name).mini
	switch want.lock.Kind {
	case Permit:
		value, _ := m.Get(want.lock.Name)
		return value == "1"
	case Multi, Fair: // each depends on others who wait
		return false
	case RW:
		return !m.Exists(want.lock.Name) || want.read && m.HGet(want.lock.Name, "mode") == "read" && !w.behindWriter(want)
	}
	return !m.Exists(want.lock.Name)
}

// behindWriter says that somebody in the same process wants to write, who has come before. Who waits
// in the line of a cohort may have to join the queue behind writers who came later.
func (w *World) behindWriter(want *belief) bool {
	for a, other := range w.asking {
		if a.process == want.actor.process && other.lock == want.lock && !other.read && (w.plan.Cohort > 0 || !other.asked.After(want.asked)) {
			return true
		}
	}
	return false
}

package sim

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// tokens are those of one lock.
type tokens struct {
	last  int64
	reset time.Time // a fault may have taken some back
}

// granted notes a hold.
func (w *World) granted(b *belief) {
	b.over = true
	delete(w.asking, b.actor)
	if b.granted = time.Now(); b.turn {
		base := w.base(b)
		b.asked, b.granted = base.asked, base.granted
	}
	if b.asked.Before(w.lost()) && b.lock.Kind != Quorum {
		b.excuse()
	}
	now := time.Now()
	if !now.Before(b.hold.Deadline()) {
		w.violate("%s gets %s when it is over", b.actor.name, b.lock.side(b.read))
	}
	if b.safe = now.Add(b.lease*97/100 - w.plan.confirmation() - 8*w.plan.Delay); b.hold.Deadline().Before(b.safe) {
		b.safe = b.hold.Deadline()
	}
	w.checkReplicas(b, now)
	w.beliefs = append(w.beliefs, b)
	if token := b.hold.Token(); token != 0 {
		was := w.tokens[b.lock.Name]
		if token < was.last || token == was.last && !w.mine(b, token) {
			if b.asked.After(w.lost()) && was.reset.Equal(w.lost()) {
				w.violate("token %d of %s after %d", token, b.lock.Name, was.last)
			}
		}
		w.tokens[b.lock.Name] = tokens{token, w.lost()}
	}
}

// base is the first turn that had the hold of a cohort. Later turns ask nobody.
func (w *World) base(turn *belief) *belief {
	if w.bases[turn.hold.Owner()] == nil {
		w.bases[turn.hold.Owner()] = turn
	}
	return w.bases[turn.hold.Owner()]
}

// uncover notes the holds of a process that is paused before it has told its session of them. Each of two requests may be
// sent twice, because the server does not know the script yet.
func (w *World) uncover(p *process) {
	told := 16 * w.plan.Delay
	if slices.ContainsFunc(w.plan.Faults, func(f fault) bool { return f.Kind == "move" }) {
		told += w.plan.timeout()
	}
	for _, b := range w.beliefs {
		b.uncovered = b.uncovered || b.actor.process == p && time.Since(b.granted) < told
	}
}

// mine says that an outer hold has the token.
func (w *World) mine(b *belief, token int64) bool {
	return slices.ContainsFunc(w.beliefs, func(other *belief) bool {
		return other != b && other.actor == b.actor && other.lock.Name == b.lock.Name && other.hold.Token() == token
	})
}

// refused notes an attempt that failed.
func (w *World) refused(a *actor, b *belief, err error) {
	b.over = true
	w.ended = time.Now()
	delete(w.asking, a)
	harmless := !slices.ContainsFunc(w.plan.Faults, func(f fault) bool { return !w.plan.brief(f) })
	if harmless && (b.patient || len(w.plan.Faults) == 0) && w.plan.Drift == 0 && kindOf(err) == "another error" {
		w.violate("%s of %s: %v", a.name, b.lock.Name, err)
	}
}

// check looks at everything that is promised at any time.
func (w *World) check() {
	if w.violation != "" {
		return
	}
	now := time.Now()
	live := w.beliefs[:0]
	for _, b := range w.beliefs {
		if b.reported() || b.actor.process.dead.Load() {
			w.checkLoss(b)
			if !b.ended {
				b.forget()
			}
			continue
		}
		live = append(live, b)
	}
	if len(live) < len(w.beliefs) {
		w.ended = now
	}
	clear(w.beliefs[len(live):])
	w.beliefs = live
	for _, b := range live {
		switch {
		case !b.believes(now):
		case !b.excused:
			w.checkKey(b, now)
		case now.After(b.told):
			w.checkTold(b)
		}
	}
	w.checkConflicts(live, now)
	w.quiet(now)
}

// checkLoss complains about a loss without a reason.
func (w *World) checkLoss(b *belief) {
	if !b.ended && b.renewed && !b.excused && !b.uncovered && !b.actor.process.dead.Load() && !b.actor.process.closing && !w.mayLose(b) {
		w.violate("%s loses %s, and no fault was so long", b.actor.name, b.lock.side(b.read))
	}
}

// mayLose says that faults may have kept a hold from its renewal. A renewal is due after a third of the lease. Then a
// quarter is left for faults and for the attempts behind them.
func (w *World) mayLose(b *belief) bool {
	now, out := time.Since(w.began), time.Duration(0)
	since := now - b.lease
	for _, f := range w.plan.Faults {
		switch until := f.At + f.For; {
		case f.At > now || slices.Contains([]string{"scripts", "clock back", "close", "death"}, f.Kind):
		case f.Kind == "pause" && w.plan.Protect && f.For < time.Minute || w.plan.brief(f):
		case !slices.Contains([]string{"cut", "half-open", "delay", "freeze", "outage", "refusal", "pause"}, f.Kind):
			return true
		case until > since:
			out += min(until, now) - max(f.At, since) + time.Second
		}
	}
	return out > b.lease/4
}

// checkConflicts: no two owners believe that they have one lock. The last holder was told before that its time is over.
func (w *World) checkConflicts(live []*belief, now time.Time) {
	for i, b := range live {
		for _, old := range live[:i] {
			switch p := old.actor.process; {
			case !conflict(old, b) || old.excused || b.excused || !b.believes(now):
			case old.believes(now):
				w.violate("%s believes that it has %s, and so does %s", b.actor.name, b.lock.side(b.read), old.actor.name)
			case !p.stopped() && now.Sub(p.resumed) > p.config.CommandTimeout+time.Second:
				w.violate("%s has %s, and %s was not told that it is over", b.actor.name, b.lock.side(b.read), old.actor.name)
			}
		}
	}
}

// conflict says that two holds cannot be held at the same time.
func conflict(a, b *belief) bool {
	if a.actor == b.actor || a.read && b.read {
		return false
	}
	mine := b.keys()
	return slices.ContainsFunc(a.keys(), func(key string) bool { return slices.Contains(mine, key) })
}

// checkKey: what is believed stands in Redis, and stays there for as long.
func (w *World) checkKey(b *belief, now time.Time) {
	if b.lock.Kind == Quorum {
		return
	}
	for _, h := range singles(b.hold) {
		switch left, trusted := w.left(b, h), h.Deadline().Sub(now); {
		case left < trusted && b.asked.Before(w.lost()):
			b.excuse() // a reply from before the loss has arrived since
		case left == 0:
			w.violate("%s believes that it has %s, which is not in Redis", b.actor.name, b.lock.side(b.read))
		case left < trusted:
			w.violate("%s trusts %s for %v, and Redis has it for %v", b.actor.name, b.lock.side(b.read), trusted, left)
		}
	}
}

// checkTold: who was robbed long ago was told, unless the hold has come back.
func (w *World) checkTold(b *belief) {
	for _, h := range singles(b.hold) {
		if b.lock.Kind != Quorum && w.left(b, h) == 0 {
			w.violate("%s still trusts %s, which a fault took from it", b.actor.name, b.lock.side(b.read))
		}
	}
}

// left is for how long Redis will have a hold, by the clock of the others.
func (w *World) left(b *belief, h *redlatch.Hold) time.Duration {
	key, field := h.Name(), b.field(h)
	s := w.home(key)
	if b.lock.Kind == Permit {
		return s.local(s.permit(key, h.Owner()))
	}
	if s.mini.HGet(key, field) == "" {
		return 0
	}
	left := s.mini.TTL(key)
	// Each read hold has an end of its own, unless its owner writes: then it has that of the lock, and
	// keeps it when the write hold is released.
	if b.lock.Kind == RW && b.read && s.mini.HGet(key, protocol.WriterField(field)) == "" {
		longest := time.Duration(0)
		for n := range 4 {
			end := protocol.ReadTimeoutKey(key, field, n+1)
			longest = max(longest, w.home(end).mini.TTL(end))
		}
		left = min(left, longest)
	}
	return s.local(left)
}

func singles(h *redlatch.Hold) []*redlatch.Hold {
	if members := h.Members(); len(members) > 0 {
		return members
	}
	return []*redlatch.Hold{h}
}

// excuse excuses whoever a fault on a server has robbed of what was promised.
func (w *World) excuse(s *redis) {
	now := time.Now()
	s.lost = now
	s.tick()
	for _, b := range w.beliefs {
		if b.lock.Kind == Quorum || b.reported() {
			continue
		}
		for _, h := range singles(b.hold) {
			if w.left(b, h) < h.Deadline().Sub(now) {
				b.excuse()
			}
		}
	}
}

// lost is when a server last lost data, or had its clock set forward.
func (w *World) lost() (last time.Time) {
	for _, s := range w.servers {
		last = later(last, s.lost)
	}
	return last
}

// home is the server that has a key. A key is on one server only, except in a Quorum.
func (w *World) home(key string) *redis {
	for _, s := range w.servers {
		if s.tick(); s.mini.Exists(key) {
			return s
		}
	}
	return w.servers[0]
}

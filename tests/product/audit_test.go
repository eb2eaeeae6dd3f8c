package product_test

import (
	"slices"
	"strings"
	"time"
)

// Whether what Redis has is what somebody is to have, and how soon a waiter has what nobody has.

// inTime fails if a hold was granted when its time was over: that of its lease, or of its cohort.
func (b *books) inTime(one *call) {
	if b.unit.real {
		return
	}
	now, owner := time.Now(), one.hold.Owner()
	if one.hold.Err() == nil && now.After(one.hold.Deadline()) {
		b.failed("was granted %v after its deadline: %v", now.Sub(one.hold.Deadline()), one.visit)
	}
	first, known := b.bases[owner]
	if !known {
		b.bases[owner] = now
	} else if stay, given := one.option(cohort); given && now.Sub(first) > stay {
		b.failed("a turn began %v after the first one of its cohort: %v", now.Sub(first), one.visit)
	}
}

// waited fails if a call was granted, or has given up, long after the lock was free. The mutex is held.
func (b *books) waited(one *call) {
	if _, waits := one.waits(); b.unit.real || !waits || one.What > write || slices.Contains(b.Whats, multi) {
		return
	}
	name := one.parts()[0].name
	for other := range b.calls {
		if other != one && other.hold != nil && slices.ContainsFunc(other.parts(), func(p part) bool { return p.name == name }) {
			return
		}
	}
	most, idle := b.unit.slack, time.Since(later(one.since, b.free[name]))
	if one.What == fair { // it may learn at a keep-alive that it is the next one
		most += b.unit.work
	}
	if slices.Contains(b.Whats, goesBack) { // who is ahead of the clock counts as a waiter of Java, and has 10 s
		most += b.unit.long / 2
	}
	if slices.Contains(b.Options, backoff) || b.Cfg.Backoff.Max > 0 { // those before it may sleep
		most += b.unit.lease
	}
	if b.Weather != calm {
		most += b.late()
	}
	if b.Weather >= moving { // the dead have left leases, and places in queues
		most += 2*b.unit.extend + b.unit.long/2
	}
	if idle > most {
		b.failed("has waited for %v while the lock was free, at most %v: %v", idle, most, one.visit)
	}
}

// audit fails if Redis has a lock for an owner of whom nobody knows.
func (w *world) audit(one *call) {
	if w.unit.real || w.Weather >= moving || one.What > fair || slices.Contains(w.Whats, multi) { // a release may fail, or come late
		return
	}
	name := one.What.name(one.Name)
	strange := w.strangers(name, false)
	if len(strange) == 0 {
		return
	}
	w.retired.Go(func() {
		time.Sleep(w.late() + w.unit.lease/50 + w.unit.slack)
		for _, owner := range w.strangers(name, true) {
			if slices.Contains(strange, owner) {
				w.fail("%s stays for %d ms with %s, of whom nobody knows: %v", name, w.do(w.servers[0], "PTTL", name).Int, owner, one.visit)
			}
		}
	})
}

// lasts fails if Redis keeps a lock for longer than its hold has asked for.
func (w *world) lasts(one *call) {
	if w.unit.real || one.What > fair || slices.Contains(w.Whats, multi) || one.owner != nil || one.Inner != nil || one.limited == nil { // the last: by a ticket
		return
	}
	most := w.Cfg.LeaseTime
	if d, fixed := one.option(lease); fixed {
		most = d
	}
	if d, given := one.option(minHold); given {
		most = max(most, d)
	}
	if d, limited := one.option(maxHold); limited {
		most = min(most, d-time.Since(one.got))
	}
	late := w.unit.slack
	if w.Weather != calm {
		late += w.unit.timeout
	}
	left := time.Duration(w.do(w.servers[0], "PTTL", one.What.name(one.Name)).Int) * time.Millisecond
	if one.hold.Valid() && !one.tainted.Load() && left > most+late {
		w.fail("Redis keeps for %v what asks for %v: %v", left, most, one.visit)
	}
}

// strangers are the owners of a lock in Redis that have no hold. With ended, what a hold has left on purpose counts
// as known.
func (w *world) strangers(name string, ended bool) (strange []string) {
	for i, r := range w.do(w.servers[0], "HGETALL", name).Array {
		owner := strings.Replace(r.Str, ":-", ":", 1) // for the rest of a least time
		if i%2 == 0 && owner != java && !w.knows(name, owner, ended) {
			strange = append(strange, owner)
		}
	}
	return strange
}

// knows says that somebody is to have a lock, or may have, under the name of that owner.
func (b *books) knows(name, owner string, ended bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one := range b.calls {
		if one.hold == nil && one.has(replicas) || one.hold != nil && one.hold.Owner() == owner {
			return true
		}
	}
	return ended && slices.ContainsFunc(b.stays, func(s stay) bool {
		return s.name == name && time.Now().Before(s.until) && (s.by.hold == nil || s.by.hold.Owner() == owner)
	})
}

// gaveUp checks a call that was not granted.
func (b *books) gaveUp(one *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited(one)
}

// keeps takes note of how long somebody else keeps a lock.
func (b *books) keeps(name string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free[name] = until
}

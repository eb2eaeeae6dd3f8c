package sim

import (
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
)

// move is a slot on its way to another server. It stays open for a while.
type move struct {
	*World
	slot     int
	from, to *redis
}

// migrate begins the move of a lock's slot to another server. The keys go one at a time.
func (w *World) migrate(f fault) {
	slot := driver.Slot((&belief{lock: w.plan.Locks[f.Lock]}).keys()[0])
	m := move{w, slot, w.owner(slot), w.servers[f.Server]}
	if m.from == m.to || m.to == w.spare || !m.from.member.idle() || !m.to.member.idle() || m.closed() {
		return
	}
	m.to.member.importing[slot] = m.from
	w.after(w.plan.Delay/4, "", func() { m.from.member.migrating[slot] = m.to })
	const steps = 3
	for i := range time.Duration(steps) {
		w.after(w.plan.Delay/4+(i+1)*f.For/(steps+1), "", m.step)
	}
	w.after(w.plan.Delay/4+f.For, "", m.finish)
}

// owner is the server that has a slot, as that one knows.
func (w *World) owner(slot int) *redis {
	for _, s := range w.servers {
		if s.member.owner(slot) == s {
			return s
		}
	}
	return w.servers[0]
}

// closed says that one of the two servers does nothing now.
func (m move) closed() bool { return m.from.down || m.to.down || m.from.stopped || m.to.stopped }

// keys are those that are still to go.
func (m move) keys() []embedded.Key {
	m.from.tick()
	m.to.tick()
	return slices.DeleteFunc(m.from.mini.Keys(), func(k embedded.Key) bool { return driver.Slot(k.Name) != m.slot })
}

// step moves one key.
func (m move) step() {
	if keys := m.keys(); len(keys) > 0 && !m.closed() {
		m.carry(keys[m.random.IntN(len(keys))])
	}
}

func (m move) carry(k embedded.Key) {
	m.note(m.from.name + " gives " + m.to.name + " " + k.Name)
	m.from.mini.Del(k.Name)
	m.to.mini.Del(k.Name)
	m.to.mini.Put(k)
}

// finish moves what is left, and tells the servers one after another who has the slot.
func (m move) finish() {
	if m.closed() {
		m.after(50*time.Millisecond, "", m.finish)
		return
	}
	for _, k := range m.keys() {
		m.carry(k)
	}
	m.give(m.slot, m.to, m.from)
}

// give gives a slot to a server. The one that had it is told next, and then the others.
func (w *World) give(slot int, to, from *redis) {
	epoch := w.nextEpoch()
	w.note(to.name + " has slot")
	to.learn(slot, to, epoch)
	for _, s := range w.servers {
		delay := w.plan.Delay
		if s == from {
			delay /= 4
		}
		if s != to {
			w.after(delay, "", func() { s.when(func() { s.learn(slot, to, epoch) }) })
		}
	}
}

// takeOver lets a server die. Its replica, which lags behind, takes its place under another address.
// The server is the replica when it is back.
func (w *World) takeOver(f fault, s *redis) {
	next := w.spare
	if s == next || s.down || s.stopped || next.down || next.stopped || !s.member.idle() || !next.member.idle() {
		return
	}
	w.spare = s
	w.outage(s, f.For+f.Other, func() {})
	w.after(f.Other/4, next.name+" takes over", func() {
		next.tick()
		for _, k := range s.replica() {
			next.mini.Put(k)
		}
		s.mini.FlushAll()
		w.excuse(s)
		w.excuse(next)
		epoch := w.nextEpoch()
		for slot := range driver.Slots {
			if s.member.owner(slot) == s {
				for _, other := range w.servers {
					other.learn(slot, next, epoch)
				}
			}
		}
	})
}

// nextEpoch is one that no server of the Cluster knows yet.
func (w *World) nextEpoch() (epoch int) {
	for _, s := range w.servers {
		epoch = max(epoch, s.member.epoch+1)
	}
	return epoch
}

package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
)

// replica is a copy of a server's keys, which lags behind. While its queue is stopped, it receives
// nothing.
type replica struct {
	queue
	next     time.Time // the least time at which it can receive something
	received int       // writes, -1 if it has to copy all keys first
	keys     []embedded.Key
	at       time.Time // of these, by the server's clock
	told     int       // of the writes that it has received, those of which the server knows
}

// wait is a WAIT without an answer.
type wait struct {
	written, least int
	answer         func(count int)
}

// replicate sends the replicas what the server has now.
func (s *redis) replicate() {
	if len(s.replicas) == 0 {
		return
	}
	s.written++
	stream, written, keys, at := s.stream, s.written, s.mini.Keys(), s.clock()
	for _, r := range s.replicas {
		r.next = later(time.Now().Add(s.way()), r.next.Add(1))
		s.at(r.next, "", func() {
			r.when(func() {
				if s.stream == stream {
					r.received, r.keys, r.at = written, keys, at
					s.after(s.way(), "", func() { s.when(func() { s.acknowledge(r, stream, written) }) })
				}
			})
		})
	}
}

// way is the time that one way to a replica takes.
func (s *redis) way() time.Duration {
	return s.gossip/4 + time.Duration(s.random.Int64N(int64(s.gossip)))
}

// acknowledge takes in what a replica has received, and answers those who wait for that.
func (s *redis) acknowledge(r *replica, stream, written int) {
	if s.stream != stream {
		return
	}
	r.told = max(r.told, written)
	var open []*wait
	for _, one := range s.waits {
		if s.confirmed(one.written) >= one.least {
			one.answer(s.confirmed(one.written))
		} else {
			open = append(open, one)
		}
	}
	s.waits = open
}

// confirmed is how many replicas have told that they have a write.
func (s *redis) confirmed(written int) (n int) {
	for _, r := range s.replicas {
		if r.told >= written {
			n++
		}
	}
	return n
}

// await answers WAIT for the writes of a connection.
func (s *redis) await(written int, words []string, answer func(count int)) {
	least, _ := strconv.Atoi(words[1])
	ms, _ := strconv.Atoi(words[2])
	one := &wait{written, least, answer}
	s.waits = append(s.waits, one)
	s.after(time.Duration(ms)*time.Millisecond, "", func() {
		s.when(func() {
			if i := slices.Index(s.waits, one); i >= 0 {
				s.waits = append(s.waits[:i:i], s.waits[i+1:]...)
				answer(s.confirmed(one.written))
			}
		})
	})
	s.acknowledge(s.replicas[0], s.stream, s.replicas[0].told) // they may have it already
}

// waits says that the last of some commands is WAIT.
func waits(commands []driver.Command) bool { return commands[len(commands)-1].Words[0] == "WAIT" }

// latest is the replica that has received the most, nil if none can take over.
func (s *redis) latest() (best *replica) {
	for _, r := range s.replicas {
		if r.received >= 0 && (best == nil || r.received > best.received) {
			best = r
		}
	}
	return best
}

// promote has a replica take the server's place, and the server become a replica in turn. The others
// copy all keys anew.
func (w *World) promote(f fault, s *redis) {
	r := s.latest()
	if f.Kind == "stale promotion" {
		r = s.replicas[int(f.Other)%len(s.replicas)]
	}
	if s.down || r == nil || r.received < 0 {
		return
	}
	kept := embedded.Aged(r.keys, s.tick().Sub(r.at))
	for _, b := range w.beliefs {
		if sure := r == s.latest() || b.replicas == len(s.replicas); sure && b.replicas > 0 && time.Now().Before(b.safe) && !b.excused && !b.reported() {
			for _, h := range singles(b.hold) {
				if !has(kept, h.Name(), b.field(h)) {
					w.violate("a replica takes over without %s of %s, which %d replicas had confirmed", b.lock.side(b.read), b.actor.name, b.replicas)
				}
			}
		}
	}
	s.stream++
	s.written, s.waits = r.received, nil
	for _, other := range s.replicas {
		other.received, other.told = -1, -1
	}
	w.outage(s, f.For, func() { s.mini.Replace(kept) })
}

// has says that a field is in the hash of a name.
func has(keys []embedded.Key, name, field string) bool {
	for _, k := range keys {
		for i := 0; i < len(k.Words) && k.Name == name && k.Kind == "hash"; i += 2 {
			if k.Words[i] == field {
				return true
			}
		}
	}
	return false
}

// checkReplicas: as many replicas as were asked for have a hold.
func (w *World) checkReplicas(b *belief, now time.Time) {
	s := w.servers[0]
	if b.replicas == 0 || b.excused || !b.believes(now) {
		return
	}
	for _, h := range singles(b.hold) {
		n := 0
		for _, r := range s.replicas {
			if has(r.keys, h.Name(), b.field(h)) {
				n++
			}
		}
		if n < b.replicas {
			w.violate("%s was told that %d replicas have %s, and %d have it", b.actor.name, b.replicas, b.lock.side(b.read), n)
		}
	}
}

// becomeReplica gives the server the keys of its replica.
func (s *redis) becomeReplica() { s.mini.Replace(s.replica()) }

// replica are the keys of its replica, without those whose time is over, or whose slot another server
// has by now.
func (s *redis) replica() (left []embedded.Key) {
	left = embedded.Aged(s.copied, s.tick().Sub(s.copiedAt))
	return slices.DeleteFunc(left, func(k embedded.Key) bool {
		return s.member != nil && s.member.owner(driver.Slot(k.Name)) != s
	})
}

package sim

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// fault is something that goes wrong.
type fault struct {
	At              time.Duration
	Kind            string
	Process, Server int
	Lock            int
	For             time.Duration // until it is well again
	Other           time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("FAULT %s (process %d, server %d, lock %d, %v, %v)", f.Kind, f.Process, f.Server, f.Lock, f.For, f.Other)
}

// What may go wrong with connections, servers and processes, and what takes locks from their
// holders.
var (
	connections = []string{"cut", "half-open", "delay"}
	outages     = []string{"freeze", "outage", "refusal", "scripts", "clock back"}
	stops       = []string{"pause", "pause", "death"}
	moves       = []string{"move", "move", "move", "move", "takeover", "takeover"}
	promotions  = []string{"promotion", "promotion", "stale promotion", "lag", "lag", "lag"}
	losses      = []string{"restart empty", "failover", "clock on", "key", "delete", "force"}
)

// prepare does what a fault needs before it happens.
func (f fault) prepare(w *World) {
	if f.Kind == "failover" || f.Kind == "takeover" {
		s := w.servers[f.Server]
		w.after(max(f.At-f.Other, 0), s.name+" is copied", func() { s.copiedAt, s.copied = s.tick(), s.mini.Keys() })
	}
}

// happen makes a fault happen.
func (f fault) happen(w *World) {
	s := w.servers[f.Server]
	switch f.Kind {
	case "freeze":
		w.freeze(s, f.For)
	case "outage":
		w.outage(s, f.For, func() {})
	case "restart empty":
		w.outage(s, f.For, s.mini.FlushAll)
	case "failover":
		if s.member == nil || s.member.idle() {
			w.outage(s, f.For, s.becomeReplica)
		}
	case "promotion", "stale promotion":
		w.promote(f, s)
	case "lag":
		r := s.replicas[f.Other]
		r.stopped = true
		w.after(f.For, "", func() { r.resume("") })
	case "move":
		w.migrate(f)
	case "takeover":
		w.takeOver(f, s)
	case "refusal":
		s.refusal = []string{"READONLY You can't write.", "LOADING Redis is loading.", "BUSY Redis is busy.", "ERR odd", "CLUSTERDOWN Hash slot not served"}[f.Other%w.refusals()]
		w.after(f.For, s.name+" refuses no more", func() { s.refusal = "" })
	case "scripts":
		clear(s.scripts)
	case "clock on":
		s.offset += f.Other
		w.excuse(s)
	case "clock back":
		s.offset -= f.Other
	case "key", "delete":
		f.foreign(w, s)
	default:
		f.process(w)
	}
}

// refusals is how many ways to refuse there are.
func (w *World) refusals() time.Duration {
	if w.spare != nil {
		return 5
	}
	return 4
}

// process makes a fault of one process happen.
func (f fault) process(w *World) {
	p := w.processes[f.Process]
	l := p.links[min(f.Server, len(p.links)-1)]
	switch f.Kind {
	case "cut":
		for _, c := range slices.Clone(l.conns) {
			c.cut(0, 0)
		}
	case "half-open":
		for _, c := range slices.Clone(l.conns) {
			c.cut(0, f.For)
		}
	case "delay":
		l.delay += f.Other / 3
		w.after(f.For, l.name+" is fast again", func() { l.delay -= f.Other / 3 }) // two may overlap
	case "pause":
		w.uncover(p)
		p.pause()
		w.after(f.For, p.name+" is to go on", func() { p.goOn(w.random) })
	case "death":
		w.replace(f.Process, f.Other)
	case "close":
		w.succeed(f.Process, f.Other)
	case "force":
		f.force(w, p)
	}
}

// foreign writes or deletes a key that is a lock, as somebody does who does not know of it.
func (f fault) foreign(w *World, s *redis) {
	key := (&belief{lock: w.plan.Locks[f.Lock]}).keys()[0]
	if w.spare != nil {
		if s = w.owner(driver.Slot(key)); !s.member.idle() {
			return
		}
	}
	s.mini.Del(key)
	if f.Kind == "key" {
		_ = s.mini.Set(key, strconv.Itoa(int(f.Other)))
		w.after(f.For, "somebody deletes "+key, func() {
			for _, s := range w.servers {
				s.mini.Del(key)
				w.excuse(s)
			}
		})
	}
	w.excuse(s)
}

// force has a process take a lock from whoever holds it.
func (f fault) force(w *World, p *process) {
	if len(p.clients) == 0 {
		return
	}
	spec := w.plan.Locks[f.Lock]
	l, can := spec.of(p, false).(interface {
		ForceUnlock(ctx context.Context) (bool, error)
	})
	if !can || p.dead.Load() {
		return
	}
	go func() {
		freed, err := l.ForceUnlock(p.ctx)
		p.say(fmt.Sprintf("%s has forced %s: %v, %s", p.name, spec.Name, freed, kindOf(err)), func() {})
	}()
}

// freeze stops a server for a while.
func (w *World) freeze(s *redis, d time.Duration) {
	if s.stopped {
		return
	}
	s.stopped = true
	w.after(d, s.name+" thaws", func() { s.resume(s.name + " goes on") })
}

// outage ends a server, which is back after a while with the keys that it has then.
func (w *World) outage(s *redis, d time.Duration, meanwhile func()) {
	if s.down {
		return
	}
	s.down = true
	s.waits = nil
	for _, c := range slices.Clone(s.conns) {
		c.cut(0, 0)
	}
	meanwhile()
	w.excuse(s)
	w.after(d, s.name+" is up", s.start)
}

// replace lets a process die, and another take its place.
func (w *World) replace(index int, after time.Duration) {
	p := w.processes[index]
	if p.dead.Load() || p.closing {
		return
	}
	var rest [][]op
	for _, a := range p.actors {
		rest = append(rest, a.ops)
	}
	p.die(after % 3 * time.Millisecond)
	w.after(after, "a process takes the place of "+p.name, func() { w.start(index, p.life+1).act(rest) })
}

// succeed lets a process close its clients while its actors go on, and another take its place.
func (w *World) succeed(index int, after time.Duration) {
	p := w.processes[index]
	if p.stopped() || p.closing {
		return
	}
	var rest [][]op
	for _, a := range p.actors {
		rest = append(rest, a.ops)
		a.ops = a.ops[:min(len(a.ops), 1)] // which meets a client that is closed
	}
	p.closing = true
	p.close()
	w.after(after, "a process takes the place of "+p.name, func() { w.start(index, p.life+1).act(rest) })
}

// calmDown ends all faults.
func (w *World) calmDown() {
	w.calm = true
	for i := range w.plan.Locks { // a failover may have brought back what somebody wrote there
		key := (&belief{lock: w.plan.Locks[i]}).keys()[0]
		for _, s := range w.servers {
			if s.mini.Type(key) == "string" && w.plan.Locks[i].Kind != Permit {
				s.mini.Del(key)
			}
		}
	}
	for _, p := range w.processes {
		p.goOn(w.random)
	}
}

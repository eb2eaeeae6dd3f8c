package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/signal"
)

// World is one simulation under way.
type World struct {
	*timeline
	plan        Plan
	random      *rand.Rand
	servers     []*redis
	processes   []*process // those that live, by index
	lives       []*process // all that ever lived
	beliefs     []*belief
	tokens      map[string]tokens
	bases       map[string]*belief // the first turn that had the hold of a cohort, by its owner
	asking      map[*actor]*belief
	forgotten   map[string]bool // owners that Redis may have for longer than their holders
	unannounced map[string]bool // locks that have become free without a message
	ended       time.Time       // when somebody last ceased to hold, or to want, a lock
	calm        bool            // no more faults
	spare       *redis          // of a Cluster: the server without slots
	violation   string
	names       []string // what stands in the trace, and what to print instead
	faults      int
}

// Result is what a simulation came to.
type Result struct {
	Seed      uint64
	Hash      uint64
	Events    int
	Faults    int
	Grants    int
	Took      time.Duration // simulated
	Violation string        // empty if there is none
	Story     []string
}

func (r Result) String() string {
	return fmt.Sprintf("seed %d: %d events, %d faults, %d grants in %v, hash %016x %s",
		r.Seed, r.Events, r.Faults, r.Grants, r.Took.Round(time.Second), r.Hash, r.Violation)
}

// Run lets a plan happen.
func Run(t *testing.T, plan Plan) (r Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		time.Sleep(time.Duration(plan.Seed%1_000_000) * time.Millisecond) // what is random depends on the time
		w := newWorld(plan)
		signal.Arrange(func(arrive func()) { w.post("", arrive) })
		defer signal.Arrange(nil)
		if plan.Lease >= time.Hour {
			signal.Slow(60)
			defer signal.Slow(0)
		}
		r = w.live()
	})
	return r
}

func newWorld(plan Plan) *World {
	w := &World{
		timeline: newTimeline(), plan: plan, tokens: map[string]tokens{}, bases: map[string]*belief{}, asking: map[*actor]*belief{}, forgotten: map[string]bool{}, unannounced: map[string]bool{},
		random: rand.New(rand.NewPCG(plan.Seed, 1)), processes: make([]*process, len(plan.Actors)+plan.Watchdogs),
	}
	for i := range plan.Servers {
		w.servers = append(w.servers, newRedis(w.timeline, fmt.Sprintf("S%d", i), plan.Drift))
		s := w.servers[i]
		s.robbed, s.gossip, s.random = w.excuse, plan.Delay, rand.New(rand.NewPCG(plan.Seed, uint64(2+i)))
		for range plan.Replicas {
			s.replicas = append(s.replicas, &replica{queue: queue{timeline: w.timeline}})
		}
	}
	if plan.Theme == "cluster" {
		found(w.servers)
		w.spare = w.servers[plan.Servers-1]
	}
	return w
}

// live runs a world from its beginning to its end.
func (w *World) live() Result {
	began := time.Now()
	for i, actors := range w.plan.Actors {
		w.start(i, 0).act(actors)
	}
	for i := range w.plan.Watchdogs {
		w.start(len(w.plan.Actors)+i, 0)
	}
	for _, f := range w.plan.Faults {
		f.prepare(w)
		w.after(f.At, f.String(), func() { w.faults++; f.happen(w) })
	}
	w.after(w.plan.calm(), "the faults end", w.calmDown)
	var took time.Duration
	for _, part := range []func(){w.work, w.progress, w.end} {
		if w.violation == "" {
			took = time.Since(began) // without the wait for what is left at the end
			part()
		}
	}
	w.abandon()
	r := Result{
		Seed: w.plan.Seed, Hash: w.sum.Sum64(), Events: w.count, Faults: w.faults,
		Took: took, Violation: w.violation,
	}
	for _, a := range w.actors() {
		r.Grants += a.granted
	}
	r.Story = w.story()
	return r
}

// act gives a process its actors. A session is begun before: all who wait for that would go on at
// once, in no order.
func (p *process) act(all [][]op) {
	for i, ops := range all {
		p.actors = append(p.actors, &actor{process: p, name: fmt.Sprintf("%s.%c", p.name, 'a'+i), ops: slices.Clone(ops)})
	}
	actors := slices.Clone(p.actors)
	go func() {
		if !p.hasJoined() { // it is dead
			p.say("", func() {
				for _, a := range actors {
					a.done = true
				}
			})
			return
		}
		if p.config.Protect && len(actors) > 0 {
			if h, err := p.clients[0].Mutex("first").Lock(p.ctx, redlatch.WithWait(2*p.config.CommandTimeout)); err == nil {
				_ = h.Unlock(p.ctx)
			}
		}
		for _, a := range actors {
			go a.run()
		}
	}()
}

// until lets events happen until over says that it is enough. It complains if that is not so in time.
func (w *World) until(limit time.Duration, over func() bool, complaint func() string) {
	end := time.Now().Add(limit)
	w.run(func() bool {
		if w.violation == "" && time.Now().After(end) && !over() {
			w.violate("%s", complaint())
		}
		return w.violation != "" || over()
	}, w.check)
}

// work goes on until every operation of the plan has ended and the faults as well.
func (w *World) work() {
	w.until(w.plan.calm()+w.plan.patience(), func() bool { return w.calm && w.allDone() }, func() string { return "operations do not end: " + w.stuck() })
}

// actors are all actors, also of processes that have ended.
func (w *World) actors() (all []*actor) {
	for _, p := range w.lives {
		all = append(all, p.actors...)
	}
	return all
}

func (w *World) allDone() bool {
	return !slices.ContainsFunc(w.actors(), func(a *actor) bool { return !a.done })
}

func (w *World) stuck() string {
	var all []string
	for _, a := range w.actors() {
		if !a.done {
			all = append(all, fmt.Sprintf("%s after %d, %d to do", a.name, a.passed, len(a.ops)))
		}
	}
	return strings.Join(all, "; ")
}

// progress has every actor take every kind of lock once more, without faults.
func (w *World) progress() {
	for _, p := range w.processes {
		for i := range p.actors {
			var ops []op
			for l := range w.plan.Locks {
				ops = append(ops, op{Think: w.plan.Delay, Lock: l, Read: i%2 == 1 && w.plan.Locks[l].Kind == RW, Keep: w.plan.Delay})
			}
			a := &actor{process: p, name: fmt.Sprintf("%s.z%d", p.name, i), ops: ops}
			p.actors = append(p.actors, a)
			go a.run()
		}
	}
	w.until(w.plan.patience(), w.allDone, func() string { return "no progress: " + w.stuck() })
	for _, p := range w.processes {
		for _, a := range p.actors {
			if strings.Contains(a.name, ".z") && w.violation == "" && a.granted < len(w.plan.Locks) {
				w.violate("%s got %d of %d locks though nothing goes wrong", a.name, a.granted, len(w.plan.Locks))
			}
		}
	}
}

// end closes all clients. Nothing may be left in Redis some time later.
func (w *World) end() {
	for _, p := range w.processes {
		if !p.dead.Load() {
			p.close()
		}
	}
	w.after(time.Hour, "", func() {})
	w.until(time.Hour, w.allClosed, func() string { return "a client does not close" })
	if w.violation != "" {
		return
	}
	time.Sleep(w.plan.leftover())
	for _, s := range w.servers {
		s.endPermits(w)
		if left := slices.DeleteFunc(s.mini.Miniredis.Keys(), mayStay); len(left) > 0 {
			w.violate("left on %s: %v", s.name, left)
		}
	}
}

func (w *World) allClosed() bool {
	return !slices.ContainsFunc(w.lives, func(p *process) bool { return !p.closed })
}

// abandon ends every goroutine.
func (w *World) abandon() {
	for _, p := range w.lives {
		if !p.closed {
			p.die(0)
		}
	}
	for i := 0; i < 3600 && !w.allClosed(); i++ {
		time.Sleep(time.Second)
		synctest.Wait()
		for w.takeIn() {
			synctest.Wait()
		}
	}
	for _, s := range w.servers {
		s.mini.Close()
	}
	synctest.Wait()
}

// violate notes the first thing that is wrong.
func (w *World) violate(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf(format, args...)
		w.note("VIOLATION " + w.violation)
	}
}

// story is the trace, in short names.
func (w *World) story() []string {
	names := slices.Clone(w.names)
	for _, s := range w.servers {
		for digest, text := range s.scripts {
			names = append(names, digest[:8], scriptName(text))
		}
	}
	short := strings.NewReplacer(names...)
	return strings.Split(short.Replace(strings.Join(w.lines, "\n")), "\n")
}

package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// themes are what a world is about.
var themes = []struct {
	name   string
	fill   func(p *Plan, r *rand.Rand)
	faults []string
}{
	{"mutex", locks(LockSpec{Mutex, "m"}), slices.Concat(connections, outages, stops, losses)},
	{"read-write", locks(LockSpec{RW, "r"}), slices.Concat(connections, outages, stops, losses)},
	{"fair", locks(LockSpec{Fair, "f"}), slices.Concat(connections, outages, stops, losses)},
	{"fenced", locks(LockSpec{Fenced, "t"}), slices.Concat(connections, outages, stops, losses)},
	{"multi", locks(LockSpec{Multi, "x"}, LockSpec{Mutex, "x1"}, LockSpec{Mutex, "x2"}), slices.Concat(connections, outages, stops, losses)},
	{"quorum", quorum, slices.Concat(connections, connections, outages[:4], stops, losses[:2], losses[:2])},
	{"protected", protected, slices.Concat(connections, outages, stops, losses)},
	{"hours", hours, slices.Concat(connections, outages, stops, losses)},
	{"cohort", cohort, slices.Concat(connections, outages, stops, losses, []string{"close", "close"})},
	{"cluster", inCluster, slices.Concat(connections, outages, stops, losses, moves)},
	{"replicas", withReplicas, slices.Concat(connections[:2], outages, stops, promotions)},
	// A clock that goes back and on again ends permits early, as any step forward does.
	{"permits", locks(LockSpec{Permit, "p"}), slices.Concat(connections, outages[:4], stops, losses[:3])},
	{"all", func(p *Plan, r *rand.Rand) {
		locks(LockSpec{Mutex, "m"}, LockSpec{RW, "r"}, LockSpec{Fair, "f"}, LockSpec{Fenced, "t"}, LockSpec{Multi, "x"})(p, r)
		p.Protect, p.Watchdogs = r.IntN(2) == 0, 1
	}, slices.Concat(connections, outages, stops, losses)},
	// Once more: these have nearly all simulated hours, and cost no more than others.
	{"hours", hours, slices.Concat(connections, outages, stops, losses)},
}

// hours are worlds with long leases.
func hours(p *Plan, r *rand.Rand) {
	p.Locks = [][]LockSpec{{{Mutex, "m"}}, {{RW, "r"}}, {{Fenced, "t"}}, {{Multi, "x"}, {Mutex, "x1"}}}[r.IntN(4)]
}

// locks makes a plan with these locks.
func locks(all ...LockSpec) func(p *Plan, r *rand.Rand) {
	return func(p *Plan, _ *rand.Rand) { p.Locks = all }
}

func quorum(p *Plan, _ *rand.Rand) {
	p.Locks, p.Servers = []LockSpec{{Quorum, "q"}}, 3
}

func protected(p *Plan, r *rand.Rand) {
	p.Locks = []LockSpec{{Mutex, "m"}, {RW, "r"}, {Fair, "f"}}
	p.Protect, p.Watchdogs = true, 1+r.IntN(2)
}

// inCluster are worlds with three servers that share the slots, and one that may take over.
func inCluster(p *Plan, r *rand.Rand) {
	p.Servers = 4
	p.Locks = [][]LockSpec{
		{{Mutex, "m"}, {Fenced, "t"}}, {{RW, "r"}}, {{RW, "r"}, {Fair, "f"}}, {{Mutex, "m"}, {RW, "r"}, {Fair, "f"}}, {{Multi, "x"}, {Mutex, "x1"}, {Mutex, "x2"}},
	}[r.IntN(5)]
}

// withReplicas are worlds whose holders may wait for replicas. One of these may take over.
func withReplicas(p *Plan, r *rand.Rand) {
	p.Replicas = 2
	p.Locks = [][]LockSpec{{{Mutex, "m"}}, {{RW, "r"}}, {{Fair, "f"}}, {{Fenced, "t"}, {RW, "r"}}}[r.IntN(4)]
}

// cohort are worlds whose actors pass locks on in memory, beside others that do not.
func cohort(p *Plan, r *rand.Rand) {
	p.Locks = [][]LockSpec{{{Mutex, "m"}}, {{RW, "r"}}, {{Fenced, "t"}}, {{Mutex, "m"}, {RW, "r"}, {Fenced, "t"}}}[r.IntN(4)]
	p.Cohort = between(r, time.Millisecond, p.Lease)
	if r.IntN(4) == 0 {
		p.Protect, p.Watchdogs = true, 1
	}
}

// joins has an operation take its lock by a cohort, or not.
func (p *Plan) joins(r *rand.Rand, o *op) {
	if p.Cohort == 0 || r.IntN(4) == 0 {
		return
	}
	o.Cohort, o.Again, o.Lease, o.Limit = p.Cohort, 0, 0, 0
	if r.IntN(8) == 0 { // another cohort of the same process
		o.Cohort *= 2
	}
	if r.IntN(2) == 0 {
		o.Think, o.Keep = between(r, p.Delay, 20*p.Delay), between(r, p.Delay/8, 4*p.Delay)
	}
}

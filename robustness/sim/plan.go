package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Plan is everything that is to happen in a simulation, as far as it does not follow from that.
type Plan struct {
	Seed      uint64
	Theme     string
	Servers   int
	Locks     []LockSpec
	Lease     time.Duration
	Delay     time.Duration // of a message on its way
	Drift     float64       // how much faster the servers' clocks are
	Length    time.Duration // until the faults end
	Actors    [][][]op      // by process, then by actor
	Faults    []fault
	Replicas  int           // of the server
	Cohort    time.Duration // for how long a lock may stay with a process, 0: no cohorts
	Protect   bool
	Watchdogs int
}

// LockSpec is a lock.
type LockSpec struct {
	Kind Kind
	Name string
}

// Kind is a kind of lock.
type Kind int

// The kinds of lock.
const (
	Mutex Kind = iota
	Fair
	RW
	Fenced
	Multi
	Quorum
	Permit // of a semaphore with one
)

func (l LockSpec) side(read bool) string {
	if read {
		return "the read side of " + l.Name
	}
	return l.Name
}

// of is the lock, as a process sees it.
func (l LockSpec) of(p *process, read bool) redlatch.Lock {
	c := p.clients[0]
	switch l.Kind {
	case Fair:
		return c.FairMutex(l.Name)
	case RW:
		if read {
			return c.RWMutex(l.Name).RLocker()
		}
		return c.RWMutex(l.Name)
	case Multi:
		members := []redlatch.Lock{c.Mutex(l.Name + "1"), c.Mutex(l.Name + "2")}
		if p.index%2 == 1 { // in the other order
			slices.Reverse(members)
		}
		return redistest.Must(redlatch.NewMulti(members...))
	case Permit:
		return permitLock{c.PermitSemaphore(l.Name), 5*time.Second + 2*p.world.plan.Lease}
	case Quorum:
		var all []redlatch.Lock
		for _, one := range p.clients {
			all = append(all, one.Mutex(l.Name))
		}
		return redistest.Must(redlatch.NewQuorum(all...))
	}
	return c.Mutex(l.Name)
}

// config is that of a process.
func (p Plan) config() redlatch.Config {
	return redlatch.Config{
		LeaseTime: p.Lease, PollCap: max(p.Lease/5, 50*time.Millisecond), FairWait: 10 * time.Second,
		CommandTimeout: p.timeout(), ReleaseTimeout: p.timeout() + 1013*time.Nanosecond, Protect: p.Protect, RestartDelay: 2*p.Lease + 2*time.Microsecond,
	}
}

// confirmation is how long replicas may take.
func (p Plan) confirmation() time.Duration { return p.Lease / 6 }

func (p Plan) timeout() time.Duration { return min(3*time.Second, p.Lease/3) + 17*time.Nanosecond }

// calm is when every fault is over.
func (p Plan) calm() time.Duration {
	at := p.Length
	for _, f := range p.Faults {
		at = max(at, f.At+f.For+f.Other)
	}
	return at + time.Second
}

// patience is how long everything may take when nothing goes wrong any more.
func (p Plan) patience() time.Duration {
	longest, sum := p.Lease, time.Duration(0)
	for _, process := range p.Actors {
		for _, ops := range process {
			for _, o := range ops {
				longest = max(longest, o.Lease)
				sum += o.Think + o.Keep + o.Wait
			}
			sum += time.Second
		}
	}
	return 4*longest + sum + time.Duration(len(p.Locks))*30*time.Second
}

// leftover is how long something may be left in Redis.
func (p Plan) leftover() time.Duration { return p.patience() + 50*time.Hour }

// mayStay says that a key may be left for ever: a counter of tokens.
func mayStay(key string) bool { return strings.Contains(key, "redisson_lock_token") }

// NewPlan makes a plan.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Servers: 1, Drift: float64(r.IntN(2)) * 0.008 * r.Float64()}
	theme := themes[int(seed%uint64(len(themes)))]
	p.Theme, p.Lease = theme.name, between(r, time.Second, 30*time.Second)
	if theme.name == "hours" {
		p.Lease = between(r, time.Hour, 24*time.Hour)
	}
	p.Delay = between(r, 100*time.Microsecond, 20*time.Millisecond)
	if r.IntN(4) == 0 {
		p.Delay = between(r, 20*time.Millisecond, p.timeout()/15) // an attempt takes two round trips
	}
	theme.fill(&p, r)
	processes, actors := 2+r.IntN(2), 3
	if theme.name == "quorum" { // the order of those that vote in one process is the scheduler's
		processes, actors = 3+r.IntN(2), 1
	}
	if p.Cohort > 0 {
		actors = 5
	}
	for range processes {
		var all [][]op
		for range 1 + r.IntN(actors) {
			all = append(all, p.ops(r))
		}
		p.Actors = append(p.Actors, all)
	}
	for _, process := range p.Actors {
		for _, ops := range process {
			var sum time.Duration
			for _, o := range ops {
				sum += o.Think + o.Keep
			}
			p.Length = max(p.Length, sum)
		}
	}
	if seed/uint64(len(themes))%4 != 3 {
		kinds := theme.faults
		if p.Protect && r.IntN(3) == 0 {
			kinds = []string{"pause"}
		}
		if p.Theme == "cluster" && r.IntN(2) == 0 {
			kinds = []string{"move"}
		}
		p.Faults = p.faults(r, kinds)
	}
	return p
}

// brief says that a fault is a slot that does not stay open for long.
func (p Plan) brief(f fault) bool { return f.Kind == "move" && f.For <= p.timeout()/4 }

func (p *Plan) ops(r *rand.Rand) (ops []op) {
	for range 6 + r.IntN(10) {
		least := p.Delay
		if p.Theme == "hours" {
			least = p.Lease / 4
		}
		o := op{Lock: r.IntN(len(p.Locks)), Think: between(r, least, p.Lease), Keep: between(r, least, 2*p.Lease)}
		kind := p.Locks[o.Lock].Kind
		if o.Read = kind == RW && r.IntN(2) == 0; p.Replicas > 0 {
			o.Keep = between(r, p.Lease/8, 3*p.Lease)
		}
		switch r.IntN(4) {
		case 0:
			o.Wait = -1
		case 1:
			o.Wait = between(r, p.Delay, 2*p.Lease)
		}
		if r.IntN(4) == 0 {
			o.Lease = between(r, p.Lease/10, 2*p.Lease)
		}
		if r.IntN(10) == 0 {
			o.Limit = between(r, p.Lease/10, 2*p.Lease)
		}
		if r.IntN(5) == 0 {
			o.Cancel = between(r, p.Delay, 2*p.Lease)
		}
		if kind != Quorum && kind != Multi && kind != Permit && r.IntN(4) == 0 {
			o.Again = 1 + r.IntN(2)
			o.Reads = kind == RW && r.IntN(2) == 0
		}
		if r.IntN(3) == 0 {
			o.Leave = []leaving{unlockInner, detach}[r.IntN(2)]
		}
		if kind == RW && !o.Read && r.IntN(4) == 0 { // a writer becomes a reader
			o.Again, o.Reads, o.Leave = 1, true, unlockInner
		}
		if p.Replicas > 0 {
			o.Replicas = r.IntN(p.Replicas + 1)
		}
		p.joins(r, &o)
		ops = append(ops, o)
	}
	return ops
}

// between is a duration whose logarithm is uniform between two.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	least = max(least, time.Microsecond)
	most = max(most, least)
	d := time.Duration(float64(least) * math.Exp(r.Float64()*math.Log(float64(most)/float64(least))))
	return d + time.Duration(r.IntN(1000))
}

func (p *Plan) faults(r *rand.Rand, kinds []string) (all []fault) {
	most := 12
	if p.Servers > 1 { // it takes several to hurt a quorum
		most = 40
	}
	for range 2 + r.IntN(most) {
		f := fault{
			At: time.Duration(r.Int64N(int64(p.Length))), Kind: kinds[r.IntN(len(kinds))],
			Process: r.IntN(len(p.Actors) + p.Watchdogs), Server: r.IntN(p.Servers), Lock: r.IntN(len(p.Locks)),
			For: between(r, p.Delay, 2*p.Lease), Other: between(r, p.Delay, p.Lease),
		}
		if slices.Contains(losses, f.Kind) && p.Theme != "cluster" {
			f.Server = 0 // a quorum stands the loss of one
		}
		switch f.Kind {
		case "move":
			if f.For = between(r, p.Lease/10, p.Lease); p.gentleOnly(kinds) {
				f.For = min(f.For, p.timeout()/4)
			}
		case "lag":
			f.For, f.Other = between(r, p.Lease/4, 2*p.Lease), f.Other%time.Duration(p.Replicas)
		}
		if f.Kind == "force" || f.Kind == "close" || f.Kind == "pause" && p.gentleOnly(kinds) {
			f.Process = r.IntN(len(p.Actors))
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fault) int { return int(a.At - b.At) })
	return all
}

func (p *Plan) gentleOnly(kinds []string) bool { return len(kinds) == 1 }

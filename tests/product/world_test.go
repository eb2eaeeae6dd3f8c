package product_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/verify"
)

// The servers, in fake time or real ones, and the processes, each with a network of its own.

// server is one of the servers, past all networks. A Quorum has a member on each. All other locks are on the first.
type server struct {
	driver.Driver
	real *redistest.Server // nil in fake time
}

const serverCount = 3

// world is one run.
type world struct {
	*books
	testing.TB
	ctx     context.Context
	servers []server
	roll    func(n int) int
	records [serverCount]record // of the events of each server
	over    chan struct{}       // closed when the weather is to be calm
	procs   [3]atomic.Pointer[process]
	retired sync.WaitGroup

	mu  sync.Mutex
	all []*process
}

// record is what clients of a server have told.
type record struct {
	mu sync.Mutex
	verify.Checker
}

// Write takes a line of a recorder in.
func (r *record) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var l verify.Line
	err := json.Unmarshal(text, &l)
	r.Add(l)
	return len(text), err
}

// process is one that comes, takes locks and ends.
type process struct {
	*world
	clients  []*redlatch.Client // one on each server
	nets     []*network         // in fake time
	proxies  []*redistest.Proxy // on real servers
	shared   context.Context    // of the owner that all its actors share
	stopping atomic.Bool        // it has begun to end
	dead     atomic.Bool        // nothing that it sends arrives
	born     time.Time
	flight   flight

	mu     sync.Mutex
	owners map[int]context.Context // by actor
	busy   int                     // acquisitions under way, and holds
	last   time.Time               // when one of these ended
}

// fakeServers are servers in a bubble: one, if no Quorum needs more.
func (s setting) fakeServers(t *testing.T) (all []server) {
	for i := 0; i == 0 || i < serverCount && slices.Contains(s.Whats, quorum); i++ {
		m := check.Must(memory.Open(context.Background(), memory.Options{}))
		t.Cleanup(m.Close)
		embedded.Quicken(m.Miniredis())
		all = append(all, server{Driver: m})
	}
	return all
}

// realServers are three processes, for all runs of a test.
func realServers(t *testing.T) (all []server) {
	for range serverCount {
		s := redistest.Start(t)
		d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: s.Addr()}))
		t.Cleanup(d.Close)
		all = append(all, server{d, s})
	}
	return all
}

// do carries out a command past all networks.
func (w *world) do(s server, words ...string) driver.Reply {
	r := s.Do(context.Background(), driver.Command{Words: words})
	if r.Err != nil {
		w.fail("%v: %w", words, r.Err)
	}
	return r
}

// begin starts a process.
func (w *world) begin() *process {
	p := &process{world: w, shared: w.ctx, owners: map[int]context.Context{}, born: time.Now(), last: time.Now(), flight: flight{since: time.Now()}}
	for i, s := range w.servers {
		var c *redlatch.Client
		var err error
		cfg := fixture.Quiet(w.Cfg)
		cfg.Observer = verify.NewRecorder(&w.records[i], "")
		if s.real != nil {
			proxy := redistest.NewProxy(w.TB, s.real.Addr())
			p.proxies = append(p.proxies, proxy)
			cfg.ConnectTimeout = time.Minute
			c, err = redlatch.Open(context.WithoutCancel(w.ctx), proxy.URL(), cfg) // a run that has failed says why
		} else {
			n := &network{Driver: s.Driver, process: p}
			p.nets = append(p.nets, n)
			c, err = redlatch.New(n, cfg)
		}
		if err != nil {
			panic(err)
		}
		p.clients, p.shared = append(p.clients, c), c.WithOwner(p.shared)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, p)
	return p
}

// owner is the context of the owner of a visit, and what tells owners apart: nil without one.
func (p *process) owner(v *visit) (ctx context.Context, id any) {
	switch v.Owner {
	case "own":
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.owners[v.Actor] == nil {
			ctx = p.world.ctx
			for _, c := range p.clients {
				ctx = c.WithOwner(ctx)
			}
			p.owners[v.Actor] = ctx
		}
		return p.owners[v.Actor], [2]any{p, v.Actor}
	case "shared":
		return p.shared, p
	}
	return p.world.ctx, nil
}

// count takes note of what keeps a Shutdown waiting.
func (p *process) count(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.last = p.busy+by, time.Now()
}

// lock is the lock of a visit.
func (p *process) lock(v *visit) redlatch.Lock {
	name, c := v.What.name(v.Name), p.clients[0]
	switch v.What {
	case fair:
		return c.FairMutex(name)
	case write:
		return c.RWMutex(name)
	case read:
		return c.RWMutex(name).RLocker()
	case permit:
		return c.PermitSemaphore(name).Locker()
	case multi:
		if v.Name == 0 {
			return check.Must(redlatch.NewMulti(c.Mutex("mutex0"), c.Mutex("mutex1")))
		}
		return check.Must(redlatch.NewMulti(c.RWMutex("rw0").RLocker(), c.FairMutex("fair0"), c.Mutex("mutex1")))
	case quorum:
		var members []redlatch.Lock
		for _, c := range p.clients {
			members = append(members, c.Mutex(name))
		}
		return check.Must(redlatch.NewQuorum(members...))
	}
	return c.Mutex(name)
}

// disturb spoils the network of some process on real servers, again and again, until the weather is to be calm.
func (w *world) disturb() {
	for random := rand.New(rand.NewPCG(w.Seed, 1)); ; {
		select {
		case <-w.over:
			return
		case <-time.After(below(random, w.unit.rest)):
		}
		if p := w.procs[random.IntN(w.Procs)].Load(); p != nil { // nil until it has begun
			p.proxies[random.IntN(serverCount)].Disturb(random, w.unit.timeout/2)
		}
	}
}

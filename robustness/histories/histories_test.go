package histories

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

// TestMain has all kinds of locks tested at once, since they wait more than they work.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8")
	redistest.Main(m)
}

// kind is a kind of lock with what its clients do.
type kind struct {
	name    string
	servers int
	options []redlatch.LockOption
	nested  bool // owners acquire again what they hold
	exact   bool // a refusal has no other reason than the holders
	// forgetful servers are killed and come back empty.
	forgetful bool
	// cohort is for how long a process may keep a lock, for most acquisitions. A lock that nobody
	// uses may stay in Redis for a moment, and refuse others.
	cohort time.Duration
	// subjects are the locks of one client to choose from. Clients are one for each server.
	subjects func(clients []*redlatch.Client, name string) []Subject
	status   func(c *redlatch.Client, name string) func(context.Context) (redlatch.Status, error)
	pool     func(c *redlatch.Client, name string) pooled // of permits; nil for locks
	counted  bool                                         // nobody owns the permits

	broken mutation.Mutation // of the servers
	calm   bool              // nothing else goes wrong
}

// pooled is what both semaphores have.
type pooled interface {
	AddPermits(ctx context.Context, n int) error
	Available(ctx context.Context) (int, error)
}

var kinds = []kind{
	{name: "mutex", servers: 1, nested: true, exact: true, subjects: mutexes, status: ofMutex},
	{name: "mutex with tokens", servers: 1, exact: true, subjects: mutexes, status: ofMutex, options: []redlatch.LockOption{redlatch.WithFencing()}},
	{name: "mutex with a fixed lease", servers: 1, nested: true, exact: true, subjects: mutexes, status: ofMutex, options: []redlatch.LockOption{redlatch.WithLease(lease)}},
	{name: "read-write lock", servers: 1, nested: true, exact: true,
		subjects: readWrites,
		status: func(c *redlatch.Client, name string) func(context.Context) (redlatch.Status, error) {
			return c.RWMutex(name).Status
		}},
	{name: "cohorts of a mutex", servers: 1, nested: true, cohort: stay, subjects: mutexes},
	{name: "cohorts of a mutex with tokens", servers: 1, cohort: stay, subjects: mutexes, options: []redlatch.LockOption{redlatch.WithFencing()}},
	{name: "cohorts of a read-write lock", servers: 1, nested: true, cohort: stay, subjects: readWrites},
	{name: "fair lock", servers: 1, nested: true,
		subjects: func(c []*redlatch.Client, name string) []Subject { return []Subject{{Lock: c[0].FairMutex(name)}} },
		status: func(c *redlatch.Client, name string) func(context.Context) (redlatch.Status, error) {
			return c.FairMutex(name).Status
		}},
	{name: "permits", servers: 1, exact: true,
		subjects: func(c []*redlatch.Client, name string) []Subject {
			return []Subject{{Lock: c[0].PermitSemaphore(name).Locker()}}
		},
		pool: func(c *redlatch.Client, name string) pooled { return c.PermitSemaphore(name) }},
	{name: "permits that nobody owns", servers: 1, exact: true, counted: true,
		pool: func(c *redlatch.Client, name string) pooled { return c.Semaphore(name) }},
	{name: "several locks as one", servers: 2,
		subjects: func(c []*redlatch.Client, name string) []Subject {
			a, b := name+"-a", name+"-b"
			return []Subject{
				{Lock: redistest.Must(redlatch.NewMulti(c[0].Mutex(a), c[1].Mutex(b))), Names: []string{a, b}},
				{Lock: c[0].Mutex(a), Names: []string{a}},
				{Lock: c[1].Mutex(b), Names: []string{b}},
			}
		}},
	{name: "quorum", servers: 3, forgetful: true,
		subjects: func(c []*redlatch.Client, name string) []Subject {
			var locks []redlatch.Lock
			for _, one := range c {
				locks = append(locks, one.Mutex(name))
			}
			return []Subject{{Lock: redistest.Must(redlatch.NewQuorum(locks...))}}
		}},
}

func mutexes(c []*redlatch.Client, name string) []Subject {
	return []Subject{{Lock: c[0].Mutex(name)}}
}

func readWrites(c []*redlatch.Client, name string) []Subject {
	m := c[0].RWMutex(name)
	return []Subject{{Lock: m}, {Lock: m.RLocker(), Read: true}, {Lock: m.RLocker(), Read: true}}
}

func ofMutex(c *redlatch.Client, name string) func(context.Context) (redlatch.Status, error) {
	return c.Mutex(name).Status
}

// workers are how many there are in each process.
func (k kind) workers() int {
	if k.cohort > 0 {
		return 3
	}
	return 2
}

// rounds are how many there are at least. Permits make more operations in a round than a lock does.
func (k kind) rounds() int {
	if k.pool != nil {
		return rounds / 2
	}
	return rounds
}

// lease is short, so that faults last longer than it.
const lease = 500 * time.Millisecond

// stay is for how long a lock stays with a cohort: for a few sections.
const stay = 100 * time.Millisecond

const (
	permits   = 2 // that a semaphore has at first
	processes = 3 // each with connections of its own to each server, through a proxy
	rounds    = 4
	length    = 1500 * time.Millisecond // of a round, which has locks of its own
)

// Goal: every history of a lock is linearizable, whatever happens to requests and replies. Method:
// random clients on real servers through proxies that cut, delay, swallow and hold back.
func TestEveryHistoryIsLinearizable(t *testing.T) {
	seed := rand.Uint64()
	if text := os.Getenv("REDLATCH_HISTORY_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("repeat the plan with REDLATCH_HISTORY_SEED=%d", seed)
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			f := begin(t, k, rand.New(rand.NewPCG(seed, uint64(i))))
			// The faults of a plan, or a busy machine, may leave little to check. Then it has more rounds.
			patience := time.Now().Add(time.Minute)
			for round, least := 0, redistest.Stretch(k.rounds()); round < least || !enough(tally(f.recorder.Operations()), k) && time.Now().Before(patience); round++ {
				f.round(fmt.Sprint(redistest.Name(t), "-", round))
			}
			f.check()
		})
	}
}

// field is the servers and processes of one kind of lock, with what they did.
type field struct {
	*testing.T
	kind
	random   *rand.Rand // of the plan
	recorder *Recorder
	lease    time.Duration // of what has none of its own
	servers  []*redistest.Server
	proxies  []*redistest.Proxy
	clients  [][]*redlatch.Client // of each process, one for each server
	wires    [][]*Wire            // of these clients
	observer *redlatch.Client     // of semaphores: without a proxy
}

func begin(t *testing.T, k kind, random *rand.Rand) *field {
	f := &field{T: t, kind: k, random: random, recorder: NewRecorder(), lease: lease}
	if k.calm { // what is slow has no fault
		f.lease = 10 * lease
	}
	for range k.servers {
		f.servers = append(f.servers, redistest.Start(t))
	}
	for range processes {
		var clients []*redlatch.Client
		var wires []*Wire
		for _, s := range f.servers {
			p := redistest.NewProxy(t, s.Addr())
			w := f.wire(p.Addr())
			c, err := redlatch.New(w, redlatch.Config{
				LeaseTime: f.lease, PollCap: 100 * time.Millisecond, CommandTimeout: f.lease / 2, ReleaseTimeout: f.lease,
				Logger: slog.New(slog.DiscardHandler), // losses are expected
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			f.proxies, clients, wires = append(f.proxies, p), append(clients, c), append(wires, w)
		}
		f.clients, f.wires = append(f.clients, clients), append(f.wires, wires)
	}
	if k.pool != nil {
		c := redistest.Must(redlatch.Open(t.Context(), f.servers[0].URL(), redlatch.Config{}))
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		f.observer = c
	}
	return f
}

// wire connects a client.
func (f *field) wire(address string) *Wire {
	for deadline := time.Now().Add(time.Minute); ; { // a busy machine is late to answer
		d, err := rueidis.Open(f.Context(), rueidis.Options{Address: address, CommandTimeout: f.lease / 2})
		if err == nil {
			f.Cleanup(d.Close)
			return &Wire{Bounded: mutated{d, f.broken}}
		}
		if time.Now().After(deadline) {
			f.Fatal(err)
		}
	}
}

// round is contend, after which all permits have to be back.
func (f *field) round(name string) {
	f.contend(name)
	if f.pool != nil {
		f.settle(name)
	}
}

// contend has all workers contend for new locks while faults come and go.
func (f *field) contend(name string) {
	ctx, cancel := context.WithTimeout(f.Context(), length)
	defer cancel()
	if f.pool != nil {
		f.recorder.Resize(ctx, -1, name, permits, f.pool(f.observer, name).AddPermits)
	}
	var work sync.WaitGroup
	for i := range processes * f.workers() {
		w := &worker{field: f, clients: f.clients[i/f.workers()], wires: f.wires[i/f.workers()], number: i, name: name, random: rand.New(rand.NewPCG(f.random.Uint64(), 0))}
		work.Go(func() {
			for ctx.Err() == nil {
				w.turn(ctx)
			}
		})
	}
	for i := range f.clients {
		ofOne := f.proxies[i*len(f.servers) : (i+1)*len(f.servers)]
		random := rand.New(rand.NewPCG(f.random.Uint64(), 0))
		work.Go(func() {
			for rest(random, 2*lease); ctx.Err() == nil && !f.calm; rest(random, 2*lease) {
				ofOne[random.IntN(len(ofOne))].Disturb(random, 3*lease)
			}
		})
	}
	for rest(f.random, 3*lease); ctx.Err() == nil && !f.calm; rest(f.random, 3*lease) {
		f.hurt()
	}
	work.Wait()
}

// settle waits until all permits of a round are back. Those that have an owner come back within a lease.
func (f *field) settle(name string) {
	least, most := f.recorder.Left(name)
	pool := f.pool(f.observer, name)
	for deadline := time.Now().Add(5 * time.Second); ; rest(f.random, lease/10) {
		n, err := pool.Available(context.Background())
		switch back := err == nil && least <= n && n <= most; {
		case back:
			f.recorder.LookFor(context.Background(), -1, name, pool.Available)
			return
		case time.Now().After(deadline):
			f.Errorf("%s: %d permits are available at the end, and %d to %d were made: %v", name, n, least, most, err)
			return
		}
	}
}

// hurt stops a server for a while. One of several is killed instead, and comes back empty.
func (f *field) hurt() {
	s := f.servers[f.random.IntN(len(f.servers))]
	if f.forgetful && f.random.IntN(2) == 0 {
		s.Kill()
		rest(f.random, lease)
		s.Restart(f)
		return
	}
	s.Freeze()
	rest(f.random, lease)
	s.Thaw()
}

func rest(random *rand.Rand, most time.Duration) {
	_ = pause.For(context.Background(), time.Duration(random.Int64N(int64(most))))
}

// checking is held by who searches, which takes all of a processor.
var checking sync.Mutex

// check checks what was recorded, and that there was something to check.
func (f *field) check() {
	operations := f.recorder.Operations()
	checking.Lock()
	v := Check(operations, time.Minute)
	checking.Unlock()
	if len(v.Wrong) > 0 {
		f.Errorf("not linearizable: %q\n%s", v.Wrong, v.Story)
	}
	if len(v.Open) > 0 {
		f.Errorf("not checked within its time: %q", v.Open)
	}
	count := tally(operations)
	f.Logf("%d operations: %v", len(operations), count)
	if !enough(count, f.kind) {
		f.Errorf("too little to check: %v", count)
	}
}

// tally counts operations by how they ended.
func tally(operations []Operation) map[string]int {
	count := map[string]int{}
	for _, o := range operations {
		switch {
		case o.Verb == Acquire && !o.Unknown && !o.Refused:
			count["granted"]++
		case o.Verb == Acquire && o.Refused:
			count["refused"]++
		case o.Unknown:
			count["unknown"]++
		case o.Verb == End:
			count["ended"]++
		case o.Verb == Look:
			count["looks"]++
		}
	}
	return count
}

// enough says whether a history of so many operations proves anything.
func enough(count map[string]int, k kind) bool {
	return count["granted"] >= 10 && count["ended"]+count["unknown"] > 0 && (!k.exact || count["refused"] > 0)
}

package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
)

// contestant is one way to lock. The rows of the tables have its name.
type contestant struct {
	name string
	// module is where it comes from; empty for what is no library of its own.
	module string
	base   string // the row that its ratios are over; raw scripts if empty
	open   opener
	// clients share the workers; 0 for one.
	clients int
	// foreign says that it runs in a process of another language, and has no open.
	foreign bool
}

// opener connects a contestant to the server with this address.
type opener func(ctx context.Context, address string, wire *wire) (client, error)

// client is a contestant that is connected.
type client struct {
	// worker returns what one goroutine needs to lock a name again and again. It is called outside
	// the timed part: whatever a user would keep is kept in it.
	worker func(name string) (worker, error)
	close  func()
	// waiters is how many goroutines wait. It is nil for a library that cannot tell.
	waiters func() int
}

// worker locks one name. It belongs to one goroutine and keeps its own hold, so that the benchmark
// adds no allocation to a pair.
type worker struct {
	lock, unlock func(ctx context.Context) error
}

// once locks and unlocks.
func (w worker) once(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := w.unlock(ctx); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	return nil
}

const (
	nameRaw         = "raw scripts"
	nameRawRequest  = "raw scripts, cancellable ctx"
	nameRedlatch    = "redlatch"
	nameRequest     = "redlatch, cancellable ctx"
	nameCohort      = "redlatch, cohort"
	nameRueidislock = "rueidislock"
	nameRedislock   = "redislock"

	nameRedislockRequest = "redislock, cancellable ctx"
	nameRedsync          = "redsync"
	nameRedisson         = "Redisson"
	nameNode             = "node-redisson"
	nameMade             = "redlatch, Mutex made each time"
	nameOnGoRedis        = "redlatch on go-redis"
	nameReaders          = "redlatch, RWMutex"
	nameReadersCohort    = "redlatch, RWMutex, cohort"
	namePermits          = "redlatch, PermitSemaphore"
	nameRawPermits       = "raw scripts of a PermitSemaphore"
	nameSemaphore        = "redlatch, Semaphore"
	nameRawSemaphore     = "raw scripts of a Semaphore"
	namePingPong         = "ping-pong"

	moduleRedlatch  = "github.com/redlatch/redlatch"
	moduleRedislock = "github.com/bsm/redislock"
	moduleRedsync   = "github.com/go-redsync/redsync/v4"
)

// pairers lock names of their own, and those of them that are libraries also one name together.
var pairers = []contestant{
	{name: "two bare round trips", open: bare(viaRueidis, trips)},
	{name: nameRaw, open: bare(viaRueidis, replay)},
	{name: "raw scripts, release by a script", open: bare(viaRueidis, replayScript)},
	{name: nameRawRequest, open: request(bare(viaRueidis, replay))},
	{name: "driver port", open: bare(viaPort, replay)},
	{name: nameRedlatch, module: moduleRedlatch, open: ours(0, keeps)},
	{name: nameMade, open: ours(0, makes)},
	{name: nameRequest, open: request(ours(0, keeps))},
	{name: nameOnGoRedis, module: moduleRedlatch, open: openOnGoRedis},
	{name: nameRueidislock, module: "github.com/redis/rueidis", open: openRueidislock},
	{name: nameRedislock, module: moduleRedislock, open: openRedislock(plain)},
	{name: nameRedislockRequest, open: request(openRedislock(plain))},
	{name: nameRedislock + ", automatic pipelining", module: moduleRedislock, open: openRedislock(pipelined)},
	{name: nameRedsync, module: moduleRedsync, open: openRedsync(plain)},
	{name: nameRedsync + ", automatic pipelining", module: moduleRedsync, open: openRedsync(pipelined)},
	{name: nameRedisson, module: "org.redisson", foreign: true},
}

var (
	cohort  = contestant{name: nameCohort, module: moduleRedlatch, open: ours(0, inCohort)}
	node    = contestant{name: nameNode, module: "node-redisson", foreign: true}
	readers = []contestant{
		{name: nameReaders, open: ours(0, reads(false))},
		{name: nameReadersCohort, open: ours(0, reads(true))},
	}
	permits = []contestant{
		{name: nameRawPermits, base: nameRawPermits, open: bare(viaRueidis, rawPermits)},
		{name: namePermits, base: nameRawPermits, open: ours(0, takesPermit)},
		{name: nameRawSemaphore, base: nameRawSemaphore, open: bare(viaRueidis, rawSemaphore)},
		{name: nameSemaphore, base: nameRawSemaphore, open: ours(0, takesFromSemaphore)},
	}
	fair     = contestant{name: "redlatch, FairMutex", open: ours(scaleTimeout, isFair)}
	mutex    = contestant{name: "redlatch, Mutex", open: ours(scaleTimeout, keeps)}
	pingPong = contestant{name: namePingPong, open: openPingPong}
)

// contestants are all of them.
func contestants() []contestant {
	return slices.Concat(pairers, readers, permits, []contestant{cohort, node, fair, mutex, pingPong}, spread)
}

// racers fight for one lock: the libraries.
func racers() []contestant {
	libraries := slices.DeleteFunc(slices.Clone(pairers), func(c contestant) bool { return c.module == "" })
	return append(libraries, cohort)
}

// find returns the contestants with these names.
func find(names ...string) (found []contestant) {
	for _, name := range names {
		for _, c := range contestants() {
			if c.name == name {
				found = append(found, c)
			}
		}
	}
	return found
}

func openByName(name string) opener {
	for _, c := range find(name) {
		if c.open != nil {
			return c.open
		}
	}
	return func(context.Context, string, *wire) (client, error) {
		return client{}, fmt.Errorf("no contestant of this program is called %q", name)
	}
}

// request is another contestant, used as a server uses it: below the context of a request, which can
// end. It does not before the process does.
func request(open opener) opener {
	return func(ctx context.Context, address string, wire *wire) (client, error) {
		c, err := open(ctx, address, wire)
		below := c.worker
		c.worker = func(name string) (worker, error) {
			w, err := below(name)
			ctx, end := context.WithCancel(context.Background())
			_ = end
			return worker{
				lock:   func(context.Context) error { return w.lock(ctx) },
				unlock: func(context.Context) error { return w.unlock(ctx) },
			}, err
		}
		return c, err
	}
}

// version is the module's version in this binary, "(this tree)" for our own.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "?"
	}
	for _, dep := range info.Deps {
		switch {
		case dep.Path != module:
		case dep.Replace != nil:
			return "(this tree)"
		default:
			return dep.Version
		}
	}
	return "?"
}

package main

import (
	"context"
	"fmt"
	"runtime/debug"
)

// contestant is one way to lock a name and unlock it again, on one server.
type contestant interface {
	// Worker returns what one goroutine needs to lock name again and again. It is
	// called outside the timed part: whatever a user would keep is kept in it.
	Worker(name string) worker
	Close()
}

// worker locks one name. It belongs to one goroutine and keeps its own possession,
// so that the benchmark adds no allocation to a pair.
type worker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// entrant is a contestant that has not been opened yet.
type entrant struct {
	name string
	// module is where it comes from; empty for what is no library of its own.
	module string
	open   func(ctx context.Context, address string, wire *wire) (contestant, error)
	// foreign says that it runs in a process of another language, and has no open.
	foreign bool
	// onEtcd says that its address is that of an etcd.
	onEtcd bool
	// most is the highest number of goroutines that it is measured with; 0 for no limit.
	most int
}

// measured says whether it is measured with so many goroutines.
func (e entrant) measured(goroutines int) bool { return e.most == 0 || goroutines <= e.most }

const (
	nameTrips      = "two bare round trips"
	nameRaw        = "raw scripts"
	nameRawScript  = "raw scripts, release by a script"
	nameRawRequest = "raw scripts, cancellable ctx"
	namePort       = "driver port"
	nameRedlatch   = "redlatch"
	nameMade       = "redlatch, Mutex made each time"
	nameRequest    = "redlatch, cancellable ctx"
	nameOnGoRedis  = "redlatch on go-redis"
	nameCohort     = "redlatch, cohort"

	nameRueidislock = "rueidislock"
	nameRedislock   = "redislock"
	nameRedsync     = "redsync"

	nameRedislockPiped = "redislock, automatic pipelining"
	nameRedsyncPiped   = "redsync, automatic pipelining"

	nameRedisson = "Redisson"
	nameNode     = "node-redisson"
	nameEtcd     = "etcd, its Go mutex"
)

// entrants are all ways to lock that are measured, in the order of the table.
func entrants() []entrant {
	return []entrant{
		{name: nameTrips, open: openTrips},
		{name: nameRaw, open: openRaw},
		{name: nameRawScript, open: openRawScript},
		{name: nameRawRequest, open: openRawRequest},
		{name: namePort, open: openPort},
		{name: nameRedlatch, module: "github.com/redlatch/redlatch", open: openKept},
		{name: nameMade, open: openMade},
		{name: nameRequest, open: openRequest},
		{name: nameOnGoRedis, module: "github.com/redlatch/redlatch", open: openOnGoRedis},
		{name: nameRueidislock, module: "github.com/redis/rueidis", open: openRueidislock},
		{name: nameRedislock, module: moduleRedislock, open: openRedislock(plain)},
		{name: nameRedislockPiped, module: moduleRedislock, open: openRedislock(pipelined)},
		{name: nameRedsync, module: moduleRedsync, open: openRedsync(plain)},
		{name: nameRedsyncPiped, module: moduleRedsync, open: openRedsync(pipelined)},
		{name: nameRedisson, module: moduleRedisson, foreign: true},
		// With more, a slice is over before each goroutine has made one pair.
		{name: nameEtcd, module: moduleEtcd, open: openEtcd, onEtcd: true, most: 64},
	}
}

const (
	moduleRedisson  = "org.redisson"
	moduleEtcd      = "go.etcd.io/etcd/client/v3"
	moduleRedislock = "github.com/bsm/redislock"
	moduleRedsync   = "github.com/go-redsync/redsync/v4"
)

// racers are the entrants that fight for one lock: the libraries.
func racers() []entrant {
	var libraries []entrant
	for _, e := range entrants() {
		if e.module != "" {
			libraries = append(libraries, e)
		}
	}
	return append(libraries, entrant{name: nameCohort, module: "github.com/redlatch/redlatch", open: openCohort})
}

// rivals are the names of the libraries that are not redlatch, each with its default settings.
func rivals() []string { return []string{nameRueidislock, nameRedislock, nameRedsync, nameRedisson} }

func findEntrant(name string) (entrant, error) {
	for _, e := range append(entrants(), racers()...) {
		if e.name == name {
			return e, nil
		}
	}
	return entrant{}, fmt.Errorf("no entrant is called %q", name)
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

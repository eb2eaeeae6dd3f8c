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
}

const (
	nameTrips        = "two bare round trips"
	nameTripsRequest = "two bare round trips, cancellable ctx"
	nameRaw          = "raw limit"
	namePort         = "driver port"
	nameRedlatch     = "redlatch"
	nameMade         = "redlatch, Mutex made each time"
	nameRequest      = "redlatch, cancellable ctx"

	nameRueidislock = "rueidislock"
	nameRedislock   = "redislock"
	nameRedsync     = "redsync"
)

// entrants are all ways to lock that are measured, in the order of the table.
func entrants() []entrant {
	return []entrant{
		{name: nameTrips, open: openTrips(true)},
		{name: nameTripsRequest, open: openTrips(false)},
		{name: nameRaw, open: openRaw},
		{name: namePort, open: openPort},
		{name: nameRedlatch, module: "github.com/redlatch/redlatch", open: openKept},
		{name: nameMade, open: openMade},
		{name: nameRequest, open: openRequest},
		{name: nameRueidislock, module: "github.com/redis/rueidis", open: openRueidislock},
		{name: nameRedislock, module: "github.com/bsm/redislock", open: openRedislock},
		{name: nameRedsync, module: "github.com/go-redsync/redsync/v4", open: openRedsync},
	}
}

// racers are the entrants that fight for one lock: each library once.
func racers() []entrant {
	var libraries []entrant
	for _, e := range entrants() {
		if e.module != "" {
			libraries = append(libraries, e)
		}
	}
	return libraries
}

// rivals are the names of the libraries that are not redlatch.
func rivals() []string { return []string{nameRueidislock, nameRedislock, nameRedsync} }

func findEntrant(name string) (entrant, error) {
	for _, e := range entrants() {
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

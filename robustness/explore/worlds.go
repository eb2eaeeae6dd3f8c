package explore

import (
	"cmp"
	"time"

	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

const second = 1000

// Clients of one kind of lock, and what they want.
var (
	mutexes = world{
		kinds: []kind{mutex(lockName), mutex(lockName)},
		wants: []want{{lease: 2 * second}, {lease: second}},
	}
	readWrites = world{
		kinds: []kind{readers, readers},
		wants: []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second}},
	}
	fairs = world{
		kinds: []kind{newFair(), newFair()}, wants: []want{{lease: 3500}}, maxHolds: 1, tick: 1750,
	}
	onePermit = world{
		kinds: []kind{leased, leased}, wants: mutexes.wants, maxHolds: 1, start: state{permits: 1},
	}
)

// worlds are all that can be explored, and to what depth the tests do so.
var worlds = []struct {
	name    string
	depth   int
	of      world
	guarded bool
	peers   []thread
}{
	{"mutex, two clients", 14, mutexes, false, nil},
	{"mutex, two clients and Redisson", 10, mutexes, false, []thread{javaMutex}},
	{"fenced mutex, two clients", 10, world{
		kinds: mutexes.kinds, wants: []want{{lease: 2 * second, tokens: 1}, {lease: second}},
	}, false, nil},
	{"fenced mutex, two clients, blocks of tokens", 10, world{
		kinds: mutexes.kinds, wants: []want{{lease: 2 * second, tokens: 3}, {lease: 2 * second, tokens: 1}},
	}, false, nil},
	{"fenced read-write, two clients, blocks of tokens", 7, world{
		kinds: readWrites.kinds, wants: []want{{lease: 2 * second, tokens: 2}, {read: true, lease: 2 * second, tokens: 1}},
	}, false, nil},
	{"read-write, two clients", 7, readWrites, false, nil},
	{"read-write, one client and Redisson", 8, world{
		kinds: readWrites.kinds[:1], wants: readWrites.wants,
	}, false, []thread{javaReader, javaWriter}},
	{"multi of two, twice", 8, world{
		kinds: []kind{mutex(lockName), mutex("M"), mutex(lockName), mutex("M")},
		wants: []want{{lease: 2 * second}}, maxHolds: 1, pair: true,
	}, false, nil},
	{"mutex, two clients, tickets", 8, handedOver(mutexes), false, nil},
	{"read-write, two clients, tickets", 5, handedOver(readWrites), false, nil},
	{"fair mutex, two clients, tickets", 5, handedOver(fairs), false, nil},
	{"a permit, two clients, tickets", 8, handedOver(onePermit), false, nil},
	{"mutex, two clients, a watchdog", 9, mutexes, true, nil},
	{"read-write, two clients, a watchdog", 6, readWrites, true, nil},
	{"fair mutex, two clients", 8, fairs, false, nil},
	{"fair mutex, two clients and Redisson", 7, fairs, false, []thread{javaFair}},
	{"a permit, two clients", 12, onePermit, false, nil},
	{"a permit, two clients and Redisson", 9, onePermit, false, []thread{javaPermit}},
	{"two permits, three clients", 7, world{
		kinds: []kind{leased, leased, leased}, wants: onePermit.wants, maxHolds: 1, start: state{permits: 2},
	}, false, nil},
	{"permits, two clients, resized", 7, world{
		kinds: onePermit.kinds, wants: onePermit.wants[:1], maxHolds: 1, start: state{permits: 1, resizes: 2},
	}, false, nil},
	{"a semaphore with a TTL, two clients", 20, world{
		kinds: onePermit.kinds, wants: onePermit.wants, maxHolds: 1, start: state{permits: 1}, ttl: second,
	}, false, nil},
}

// handedOver is a world in which holds go from client to client.
func handedOver(w world) world {
	w.tickets = true
	return w
}

// newWorld makes the world of a name, with some scripts changed.
func newWorld(name string, mutations ...mutation.Mutation) *world {
	var w world
	for _, one := range worlds {
		if one.name == name {
			w = one.of
			w.guarded, w.peers = one.guarded, one.peers
		}
	}
	w.name, w.redis, w.cached = name, newRedis(mutations), map[question]*request{}
	w.maxHolds, w.tick = cmp.Or(w.maxHolds, 2), cmp.Or(w.tick, second)
	if w.start.faults = 2; w.start.permits > 0 {
		w.makePermits(w.start.permits, cmp.Or(time.Duration(w.ttl)*time.Millisecond, embedded.None))
	}
	return &w
}

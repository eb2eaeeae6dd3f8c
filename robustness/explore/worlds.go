package explore

import "cmp"

const second = 1000

// Clients of one kind of lock, and what they want.
var (
	mutexes = world{
		kinds: []kind{mutex(lockName), mutex(lockName)},
		wants: []want{{lease: 2 * second}, {lease: second, fixed: true}},
	}
	readWrites = world{
		kinds: []kind{readers, readers},
		wants: []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}},
	}
	fairs = world{
		kinds: []kind{newFair(), newFair()}, wants: []want{{lease: 3500}}, maxHolds: 1, tick: 1750, queues: true,
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
	{"mutex, two clients", 8, mutexes, false, nil},
	{"mutex, two clients and Redisson", 7, mutexes, false, []thread{javaMutex}},
	{"fenced mutex, two clients", 7, world{
		kinds: mutexes.kinds, wants: []want{{lease: 2 * second, fenced: true}, {lease: second, fixed: true}},
	}, false, nil},
	{"read-write, two clients", 7, readWrites, false, nil},
	{"read-write, one client and Redisson", 7, world{
		kinds: readWrites.kinds[:1], wants: readWrites.wants,
	}, false, []thread{javaReader, javaWriter}},
	{"multi of two, twice", 7, world{
		kinds: []kind{mutex(lockName), mutex("M"), mutex(lockName), mutex("M")},
		wants: []want{{lease: 2 * second}}, maxHolds: 1, pair: true,
	}, false, nil},
	{"mutex, two clients, a watchdog", 8, mutexes, true, nil},
	{"read-write, two clients, a watchdog", 6, readWrites, true, nil},
	{"fair mutex, two clients", 8, fairs, false, nil},
	{"fair mutex, two clients and Redisson", 7, fairs, false, []thread{javaFair}},
}

// newWorld makes the world of a name, with some scripts changed.
func newWorld(name string, mutations ...Mutation) (*world, error) {
	server, err := newRedis(mutations)
	if err != nil {
		return nil, err
	}
	var w world
	for _, one := range worlds {
		if one.name == name {
			w = one.of
			w.guarded, w.peers = one.guarded, one.peers
		}
	}
	w.name, w.redis, w.cached = name, server, map[question]*request{}
	w.maxHolds, w.tick = cmp.Or(w.maxHolds, 2), cmp.Or(w.tick, second)
	w.start.faults = 2
	return &w, nil
}

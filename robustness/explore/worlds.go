package explore

const second = 1000

// worlds are all that can be explored, and to what depth the tests do so.
var worlds = []struct {
	name  string
	depth int
	make  func(*world)
}{
	{"mutex, two clients", 8, func(w *world) {
		w.kinds = []kind{mutex(lockName), mutex(lockName)}
		w.wants = []want{{lease: 2 * second}, {lease: second, fixed: true}}
	}},
	{"mutex, two clients and Redisson", 7, func(w *world) {
		w.kinds = []kind{mutex(lockName), mutex(lockName)}
		w.wants = []want{{lease: 2 * second}, {lease: second, fixed: true}}
		w.peers = []thread{javaMutex}
	}},
	{"fenced mutex, two clients", 7, func(w *world) {
		w.kinds = []kind{mutex(lockName), mutex(lockName)}
		w.wants = []want{{lease: 2 * second, fenced: true}, {lease: second, fixed: true}}
	}},
	{"read-write, two clients", 7, func(w *world) {
		w.kinds = []kind{readers, readers}
		w.wants = []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}}
	}},
	{"read-write, one client and Redisson", 7, func(w *world) {
		w.kinds = []kind{readers}
		w.wants = []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}}
		w.peers = []thread{javaReader, javaWriter}
	}},
	{"multi of two, twice", 7, func(w *world) {
		w.kinds = []kind{mutex(lockName), mutex("M"), mutex(lockName), mutex("M")}
		w.wants = []want{{lease: 2 * second}}
		w.maxHolds, w.pair = 1, true
	}},
	{"mutex, two clients, a watchdog", 8, func(w *world) {
		w.kinds = []kind{mutex(lockName), mutex(lockName)}
		w.wants = []want{{lease: 2 * second}, {lease: second, fixed: true}}
		w.guarded = true
	}},
	{"read-write, two clients, a watchdog", 6, func(w *world) {
		w.kinds = []kind{readers, readers}
		w.wants = []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}}
		w.guarded = true
	}},
	{"fair mutex, two clients", 8, func(w *world) {
		w.kinds = []kind{newFair(), newFair()}
		w.wants = []want{{lease: 3500}}
		w.maxHolds, w.tick, w.queues = 1, 1750, true
	}},
	{"fair mutex, two clients and Redisson", 7, func(w *world) {
		w.kinds = []kind{newFair(), newFair()}
		w.wants = []want{{lease: 3500}}
		w.maxHolds, w.tick, w.queues = 1, 1750, true
		w.peers = []thread{javaFair}
	}},
}

// newWorld makes the world of a name, with some scripts changed.
func newWorld(name string, mutations ...Mutation) (*world, error) {
	server, err := newRedis(mutations)
	if err != nil {
		return nil, err
	}
	w := &world{name: name, redis: server, maxHolds: 2, tick: second, maxLate: 1, maxUnderWay: 2, cached: map[question]*request{}}
	w.start.faults = 2
	for _, one := range worlds {
		if one.name == name {
			one.make(w)
		}
	}
	return w, nil
}

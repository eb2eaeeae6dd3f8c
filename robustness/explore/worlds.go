package explore

const second = 1000

// worlds are what can be explored.
var worlds = []struct {
	name string
	make func(*world)
}{
	{"mutex, two clients", func(w *world) {
		w.kinds = []kind{exclusive(lockName), exclusive(lockName)}
		w.wants = []want{{lease: 2 * second}, {lease: second, fixed: true}}
	}},
	{"mutex, two clients and Redisson", func(w *world) {
		w.kinds = []kind{exclusive(lockName), exclusive(lockName)}
		w.wants = []want{{lease: 2 * second}, {lease: second, fixed: true}}
		w.peers = []thread{javaMutex}
	}},
	{"fenced mutex, two clients", func(w *world) {
		w.kinds = []kind{exclusive(lockName), exclusive(lockName)}
		w.wants = []want{{lease: 2 * second, fenced: true}, {lease: second, fixed: true}}
	}},
	{"read-write, two clients", func(w *world) {
		w.kinds = []kind{readWrite{}, readWrite{}}
		w.wants = []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}}
	}},
	{"read-write, one client and Redisson", func(w *world) {
		w.kinds = []kind{readWrite{}}
		w.wants = []want{{lease: 2 * second}, {read: true, lease: 2 * second}, {read: true, lease: second, fixed: true}}
		w.peers = []thread{javaReader, javaWriter}
	}},
	{"multi of two, twice", func(w *world) {
		w.kinds = []kind{exclusive(lockName), exclusive("M"), exclusive(lockName), exclusive("M")}
		w.wants = []want{{lease: 2 * second}}
		w.most, w.pair = 1, true
	}},
	{"fair mutex, two clients", func(w *world) {
		w.kinds = []kind{newFair(), newFair()}
		w.wants = []want{{lease: 3500}}
		w.most, w.tick, w.queues = 1, 1750, true
	}},
	{"fair mutex, two clients and Redisson", func(w *world) {
		w.kinds = []kind{newFair(), newFair()}
		w.wants = []want{{lease: 3500}}
		w.most, w.tick, w.queues = 1, 1750, true
		w.peers = []thread{javaFair}
	}},
}

// newWorld makes the world of a name, with some scripts changed.
func newWorld(name string, mutations ...Mutation) (*world, error) {
	server, err := newServer(mutations)
	if err != nil {
		return nil, err
	}
	w := &world{name: name, server: server, most: 2, tick: second, late: 1, abreast: 2, cached: map[question]*request{}}
	w.start.faults = 2
	for _, one := range worlds {
		if one.name == name {
			one.make(w)
		}
	}
	if len(w.kinds)%2 == 0 {
		server.half = len(w.kinds) / 2
		server.swap = exchange(server.half)
	}
	return w, nil
}

package robustness

import (
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// independent are five servers that know nothing of each other.
type independent struct {
	*drill
	turn    int
	servers []*redistest.Server
	fronts  []*redistest.Proxy
}

// independentServers: minorities of them are killed and come back empty, freeze, and are
// cut off. A plain lock on one of them shows what that would do.
func independentServers(d *drill) {
	in := &independent{drill: d}
	for range 5 {
		s := redistest.Start(d)
		in.servers, in.fronts = append(in.servers, s), append(in.fronts, redistest.NewProxy(d, s.Addr()))
	}
	d.begin([]level{plain}, d.names(), d.byURL(in.fronts[0].URL()))
	d.begin([]level{quorum}, d.names(), in.join)
	d.awaitService(0) // a server that has just been started does not count
	d.rounds(in.round, d.overlapped)
	d.end()
	d.mustOverlap()
}

func (in *independent) join(cfg redlatch.Config) client {
	var clients []*redlatch.Client
	for _, front := range in.fronts {
		clients = append(clients, in.open(front.URL(), cfg))
	}
	return func(name string) redlatch.Lock {
		locks := make([]redlatch.Lock, len(clients))
		for i, c := range clients {
			locks[i] = c.Mutex(name)
		}
		return redistest.Must(redlatch.NewQuorum(locks...))
	}
}

// round hurts two servers: any, and in every other round the first among them, where the
// plain lock is. Then it waits until those that were restarted count again.
func (in *independent) round() {
	victims := in.random.Perm(len(in.servers))[:2]
	if in.turn++; in.turn%2 == 1 {
		in.forget(0)
		victims = []int{1 + in.random.IntN(len(in.servers)-1)}
	}
	var repairs []func()
	for _, i := range victims {
		repairs = append(repairs, in.harm(i))
		in.pause(0, lease/2)
	}
	for _, repair := range repairs {
		repair()
		in.pause(0, lease/2)
	}
	in.pause(lease, lease+lease/2)
}

// harm hurts a server and returns what repairs it.
func (in *independent) harm(i int) (repair func()) {
	s, front := in.servers[i], in.fronts[i]
	switch in.random.IntN(4) {
	case 0:
		s.Freeze()
		return s.Thaw
	case 1:
		front.Blackhole(true)
		return func() { front.Blackhole(false) }
	case 2:
		s.Kill()
		return func() { s.Restart(in) }
	}
	in.forget(i)
	return func() {}
}

// forget has a server restart so soon that its clients do not learn of it by themselves.
func (in *independent) forget(i int) {
	in.servers[i].Kill()
	in.servers[i].Restart(in)
}

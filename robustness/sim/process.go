package sim

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/watchdog"
)

// process is one process: a client for each server, and actors that use them.
//
// A goroutine of the library cannot be stopped. So a paused process is one whose renewal loop is
// held up, which does not see its time run out, and for which nothing arrives or leaves.
type process struct {
	queue    // what arrives or leaves while it is paused
	world    *World
	name     string
	index    int
	life     int
	config   redlatch.Config
	links    []*link
	clients  []*redlatch.Client
	actors   []*actor
	ctx      context.Context
	cancel   context.CancelFunc
	dead     atomic.Bool
	died     chan struct{} // closed then
	paused   atomic.Bool
	resumed  time.Time // when it last went on
	resume   []func()  // ends the pause of each renewal loop
	closing  bool      // it closes its clients
	closed   bool      // everything of it has ended
	watching sync.WaitGroup
	cluster  *cluster.Driver // of a Cluster
	joined   chan struct{}   // closed when the clients are there
}

// start starts a process.
func (w *World) start(index, life int) *process {
	p := &process{
		index: index, life: life,
		queue: queue{timeline: w.timeline}, world: w, name: fmt.Sprintf("P%d.%d", index, life), config: w.plan.config(),
		died: make(chan struct{}), joined: make(chan struct{}),
	}
	p.config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for i, s := range w.servers {
		l := &link{
			timeline: w.timeline, name: fmt.Sprintf("%s>%s", p.name, s.name), process: p, server: s, delay: w.plan.Delay,
			random: rand.New(rand.NewPCG(w.plan.Seed, uint64(1000*life+10*index+i))),
		}
		p.links = append(p.links, l)
		if time.Sleep(time.Nanosecond); w.spare != nil { // the instant is what makes a fresh name unique
			continue
		}
		if index >= len(w.plan.Actors) {
			p.watch(l)
			break
		}
		p.begin(l, l.name)
	}
	if w.spare != nil {
		p.join(index >= len(w.plan.Actors))
	} else {
		close(p.joined)
	}
	w.processes[index] = p
	w.lives = append(w.lives, p)
	return p
}

// begin makes a client on a driver.
func (p *process) begin(d driver.Driver, name string) {
	c := redistest.Must(redlatch.New(d, p.config))
	p.clients = append(p.clients, c)
	p.world.names = append(p.world.names, c.ID(), name)
}

// stopped says that the process does nothing: it is paused, or going on, or dead.
func (p *process) stopped() bool { return p.dead.Load() || p.queue.stopped }

// pause stops the process.
func (p *process) pause() {
	if p.stopped() {
		return
	}
	p.paused.Store(true)
	p.queue.stopped, p.resume = true, nil
	for _, c := range p.clients {
		p.resume = append(p.resume, stall(c))
	}
}

// goOn ends a pause. What has waited comes in its order, and the renewal loops somewhere between.
func (p *process) goOn(random *rand.Rand) {
	if !p.paused.Load() || p.dead.Load() {
		return
	}
	p.paused.Store(false)
	p.resumed = time.Now()
	for _, end := range p.resume {
		at := random.IntN(len(p.waiting) + 1)
		p.waiting = slices.Insert(p.waiting, at, end)
	}
	p.queue.resume(p.name + " goes on")
}

// die ends a process without a word. Its connections end when the server notices.
func (p *process) die(notice time.Duration) {
	if p.dead.Swap(true) {
		return
	}
	close(p.died)
	p.cancel()
	for _, end := range p.resume {
		end()
	}
	p.resume, p.waiting = nil, nil
	for _, l := range p.links {
		for _, c := range slices.Clone(l.conns) {
			if notice == 0 {
				c.broken = true // what is under way still arrives, or not
			}
			c.after(notice+1, c.name+" is gone for the server", func() {
				c.broken = true
				l.server.conns = slices.DeleteFunc(l.server.conns, func(other *conn) bool { return other == c })
			})
			c.noticed()
		}
	}
	p.close()
}

// watch makes the process a watchdog.
func (p *process) watch(on driver.Driver) {
	d := redistest.Must(watchdog.New(on, watchdog.Config{Logger: p.config.Logger, Look: time.Second / 2, CommandTimeout: p.config.CommandTimeout}))
	p.watching.Go(func() { _ = d.Run(p.ctx) })
}

// close ends everything that the process does.
func (p *process) close() {
	go func() {
		for _, c := range p.clients {
			_ = c.Close(context.Background())
		}
		if len(p.clients) == 0 {
			p.cancel()
		}
		p.watching.Wait()
		if p.cluster != nil {
			rested := make(chan struct{})
			p.post("", func() { close(rested) }) // when all that the clients did has come to rest
			<-rested
			p.cluster.Close()
		}
		p.say(p.name+" is closed", func() { p.closed = true })
	}()
}

// when of a process does nothing for a dead one.
func (p *process) when(do func()) {
	if !p.dead.Load() {
		p.queue.when(do)
	}
}

// say posts something. What a dead process still does has no order, and no line in the trace.
func (p *process) say(what string, take func()) {
	if p.dead.Load() {
		what = ""
	}
	p.post(what, take)
}

// stalled is a lease whose loss holds up the renewal loop.
type stalled struct{ resume chan struct{} }

func (s stalled) Lost(error) { <-s.resume }

// stall holds up a client's renewal loop until end is called, once or more often.
func stall(c *redlatch.Client) (end func()) {
	s := stalled{make(chan struct{})}
	engine(c).Set(&renew.Item{Subject: s}, renew.Term{Asked: time.Now().Add(-time.Second), Lease: 10 * time.Millisecond})
	return sync.OnceFunc(func() { close(s.resume) })
}

// engine is the renewal engine of a client, which the public API does not show.
func engine(c *redlatch.Client) *renew.Engine {
	field := reflect.ValueOf(c).Elem().FieldByName("locks")
	return (*lock.Manager)(unsafe.Pointer(field.Pointer())).Engine()
}

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// fakes is a cluster whose servers say what they are told to, in a bubble of fake time.
type fakes struct {
	mu      sync.Mutex
	servers map[string]*fake
	dialled map[string]int // attempts to connect
}

// fake is one server.
type fake struct {
	all     *fakes
	address string

	// Guarded by fakes.mu.
	spans     []fakeSpan
	epoch     int
	nodes     string                            // the answer to CLUSTER NODES
	old       bool                              // without shard messages
	refusing  error                             // of connections
	hanging   bool                              // connections and commands
	hang      time.Duration                     // for how long: more than the driver's own bound
	answer    func(words []string) driver.Reply // to commands about keys; nil means OK
	refuse    func(verb, channel string) error  // subscriptions
	slowAck   time.Duration                     // of acknowledgements
	trip      time.Duration                     // how long a request takes
	log       []string                          // commands about keys
	asked     []time.Time                       // for the map
	closed    bool                              // the driver to it
	listeners []*fakeListener
	shut      chan struct{} // closed with the driver
}

type fakeSpan struct {
	first, last int
	host        string
	port        int
}

// twoFakes are a:1 with the lower half of the slots and b:2 with the upper.
func twoFakes() *fakes {
	all := &fakes{servers: map[string]*fake{}, dialled: map[string]int{}}
	for _, address := range []string{"a:1", "b:2", "c:3"} {
		all.servers[address] = &fake{all: all, address: address, epoch: 1, hang: 4 * time.Second}
	}
	all.divide([]fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "b", 2}}, 1)
	return all
}

// divide has all servers think the same about the slots.
func (all *fakes) divide(spans []fakeSpan, epoch int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, f := range all.servers {
		f.spans, f.epoch = spans, epoch
	}
}

// set changes a server.
func (all *fakes) set(address string, change func(*fake)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	change(all.servers[address])
}

// get reads something of a server.
func get[T any](all *fakes, address string, read func(*fake) T) T {
	all.mu.Lock()
	defer all.mu.Unlock()
	return read(all.servers[address])
}

func (all *fakes) connect(ctx context.Context, address string) (driver.Driver, error) {
	all.mu.Lock()
	f := all.servers[address]
	all.dialled[address]++
	hanging := f != nil && f.hanging
	all.mu.Unlock()
	switch {
	case f == nil:
		return nil, errors.New("no such host")
	case hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	case f.refusing != nil:
		return nil, f.refusing
	}
	all.set(address, func(f *fake) { f.closed, f.shut = false, make(chan struct{}) })
	return f, nil
}

// open opens a driver until the end of the test.
func (all *fakes) open(t *testing.T, addresses ...string) *cluster.Driver {
	t.Helper()
	if len(addresses) == 0 {
		addresses = []string{"a:1"}
	}
	return openWith(t, cluster.Options{Addresses: addresses, Connect: all.connect})
}

func (f *fake) Do(ctx context.Context, command driver.Command) driver.Reply {
	return f.Pipeline(ctx, command)[0]
}

func (f *fake) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return f.Pipeline(ctx, commands...)
}

var errCut = errors.New("connection cut")

func (f *fake) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	trip, arrived := context.WithTimeout(ctx, get(f.all, f.address, func(f *fake) time.Duration { return f.trip }))
	defer arrived()
	<-trip.Done()
	if ctx.Err() != nil {
		return call.FailAll(len(commands), ctx.Err())
	}
	if get(f.all, f.address, func(f *fake) bool { return f.hanging }) {
		err := error(nil)
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-get(f.all, f.address, func(f *fake) chan struct{} { return f.shut }):
			err = fmt.Errorf("%w: closed", driver.ErrNotSent)
		case <-time.After(get(f.all, f.address, func(f *fake) time.Duration { return f.hang })):
			err = errors.New("no answer")
		}
		return call.FailAll(len(commands), err)
	}
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	replies := make([]driver.Reply, len(commands))
	for i, command := range commands {
		replies[i] = f.reply(command.Words)
	}
	return replies
}

// reply needs the mutex.
func (f *fake) reply(words []string) driver.Reply {
	switch words[0] {
	case "CLUSTER":
		if words[1] == "INFO" {
			return driver.Reply{Str: fmt.Sprintf("cluster_state:ok\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:9\r\n", f.epoch)}
		}
		if words[1] == "NODES" {
			return driver.Reply{Str: f.nodes}
		}
		f.asked = append(f.asked, time.Now())
		return f.slots()
	case "PUBSUB":
		if f.old {
			return driver.Reply{Err: &driver.ServerError{Message: "ERR Unknown subcommand or wrong number of arguments"}}
		}
		return driver.Reply{}
	}
	f.log = append(f.log, words[0])
	if f.answer == nil {
		return driver.Reply{Str: "OK"}
	}
	return f.answer(words)
}

func (f *fake) slots() (reply driver.Reply) {
	for _, s := range f.spans {
		reply.Array = append(reply.Array, driver.Reply{Array: []driver.Reply{
			{Int: int64(s.first)}, {Int: int64(s.last)},
			{Array: []driver.Reply{{Str: s.host}, {Int: int64(s.port)}, {Str: "id"}, {}}},
		}})
	}
	return reply
}

func (f *fake) Close() {
	f.all.set(f.address, func(f *fake) {
		if !f.closed {
			f.closed = true
			close(f.shut)
		}
	})
}

func (f *fake) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.refusing != nil {
		return nil, f.refusing
	}
	l := &fakeListener{server: f, events: events, queue: make(chan func(), 1000), done: make(chan struct{}), over: make(chan struct{})}
	f.listeners = append(f.listeners, l)
	go l.deliver()
	if f.old {
		return struct{ driver.Listener }{l}, nil // nothing but a plain one
	}
	return l, nil
}

// fakeListener is a subscription connection that remembers what was asked on it.
type fakeListener struct {
	server *fake
	events driver.Events
	queue  chan func()
	done   chan struct{}
	over   chan struct{}
	once   sync.Once

	log []string // guarded by fakes.mu
}

func (l *fakeListener) deliver() {
	defer close(l.over)
	for {
		select {
		case event := <-l.queue:
			event()
		case <-l.done:
			return
		}
	}
}

func (l *fakeListener) ask(verb string, channels []string, acknowledge bool) error {
	time.Sleep(get(l.server.all, l.server.address, func(f *fake) time.Duration { return f.trip }))
	l.server.all.mu.Lock()
	defer l.server.all.mu.Unlock()
	for _, channel := range channels {
		l.log = append(l.log, verb+" "+channel)
	}
	for _, channel := range channels {
		if l.server.refuse != nil {
			if err := l.server.refuse(verb, channel); err != nil {
				return err
			}
		}
	}
	delay := l.server.slowAck
	for _, channel := range channels {
		if acknowledge {
			l.queue <- func() {
				if delay > 0 { // timers of several servers that are due at once end the race detector (pause.For)
					select {
					case <-time.After(delay):
					case <-l.done:
						return
					}
				}
				l.events.Subscribed(channel)
			}
		}
	}
	return nil
}

func (l *fakeListener) Subscribe(_ context.Context, channels ...string) error {
	return l.ask("SUBSCRIBE", channels, true)
}

func (l *fakeListener) Unsubscribe(_ context.Context, channels ...string) error {
	return l.ask("UNSUBSCRIBE", channels, false)
}

func (l *fakeListener) SubscribeShard(_ context.Context, channels ...string) error {
	return l.ask("SSUBSCRIBE", channels, true)
}

func (l *fakeListener) UnsubscribeShard(_ context.Context, channels ...string) error {
	return l.ask("SUNSUBSCRIBE", channels, false)
}

func (l *fakeListener) Done() <-chan struct{} { return l.done }

func (l *fakeListener) Close() {
	l.once.Do(func() { close(l.done) })
	<-l.over
}

// keyOf returns a key of a slot in the lower or the upper half.
func keyOf(upper bool) string {
	for i := 0; ; i++ {
		if key := strconv.Itoa(i); driver.Slot(key) >= driver.Slots/2 == upper {
			return key
		}
	}
}

func movedTo(key, address string) driver.Reply {
	return driver.Reply{Err: &driver.ServerError{Message: fmt.Sprintf("MOVED %d %s", driver.Slot(key), address)}}
}

// log returns the commands that a server got.
func (all *fakes) log(address string) []string {
	return get(all, address, func(f *fake) []string { return slices.Clone(f.log) })
}

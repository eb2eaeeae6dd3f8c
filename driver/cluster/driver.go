package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var _ driver.Sharded = (*Driver)(nil)

// Driver is the connection to one Redis Cluster.
type Driver struct {
	options Options
	// shardMessages is set by Open.
	shardMessages bool

	// slots says who has a slot; nil where nobody is known to.
	slots [driver.Slots]atomic.Pointer[node]
	// open says which slots were seen to be on their way lately.
	open    [driver.Slots]atomic.Pointer[openSlot]
	masters atomic.Pointer[[]*node] // whoever has slots; never empty after Open
	kick    chan struct{}           // capacity one: the map is to be asked for

	// life ends when Close begins.
	life context.Context
	end  context.CancelFunc
	// work counts the driver's goroutines. It is added to under mu, and only while the
	// driver is open.
	work sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	nodes     map[string]*node // by address, those that are not closed
	listeners map[*listener]struct{}
	epoch     int64  // of the map
	hint      string // who should be asked for the map first
}

// Open asks one of the addresses for the cluster's map, connects to the masters, and
// learns from them whether they know shard messages; a master that does not answer within
// a second is not waited for. Open ends with ctx, or when the command timeout has passed.
// Where the servers refuse, the error wraps a *driver.ServerError. Nothing is left behind
// by an Open that failed.
func Open(ctx context.Context, options Options) (*Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		options: options, kick: make(chan struct{}, 1),
		nodes: make(map[string]*node), listeners: make(map[*listener]struct{}),
	}
	d.masters.Store(new([]*node))
	d.life, d.end = context.WithCancel(context.Background())
	attempt, cancel := options.bounded(ctx, time.Now())
	defer cancel()
	if err := d.refresh(attempt); err != nil {
		d.Close()
		return nil, fmt.Errorf("connect to redis cluster %s: %w", strings.Join(options.Addresses, ","), err)
	}
	d.shardMessages = d.probe(attempt)
	d.spawn(d.keep)
	return d, nil
}

// CommandTimeout is the time within which every call but Apart ends by itself. Whoever
// needs no shorter one can do without a timer of its own.
func (d *Driver) CommandTimeout() time.Duration { return d.options.CommandTimeout }

// Shard is the address of the server that has key now, as far as is known, and empty if
// nobody is known to. See driver.Sharded.
func (d *Driver) Shard(key string) string {
	if n := d.slots[driver.Slot(key)].Load(); n != nil {
		return n.address
	}
	return ""
}

// ShardMessages says whether the servers knew of them when the driver was opened. See
// driver.Sharded.
func (d *Driver) ShardMessages() bool { return d.shardMessages }

// Close ends the connections and waits for the driver's goroutines. Calls under way, and
// calls made afterwards, fail.
func (d *Driver) Close() {
	d.mu.Lock()
	d.closed = true
	nodes, listeners := d.nodes, d.listeners
	d.nodes, d.listeners = nil, nil
	d.mu.Unlock()

	d.end()
	for _, n := range nodes {
		n.closeNow()
		n.shut()
	}
	for l := range listeners {
		l.Close()
	}
	d.work.Wait()
}

// spawn starts a goroutine, unless the driver is closed.
func (d *Driver) spawn(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.work.Go(f)
	}
	return !d.closed
}

// node returns the node with an address, a new one if there is none. It is closed if the
// driver is.
func (d *Driver) node(address string) *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[address]
	if n == nil {
		n = newNode(d, address)
		if d.closed {
			n.closeNow()
			n.end()
			return n
		}
		d.nodes[address] = n
	}
	return n
}

// home is the node that has a key, as far as is known.
func (d *Driver) home(key string) *node {
	if key == "" {
		return d.anyone()
	}
	slot := &d.slots[driver.Slot(key)]
	n := slot.Load()
	if n == nil {
		d.refreshSoon("")
		return d.anyone() // it knows better, or refuses
	}
	if n.closed() { // between its departure and the slot's arrival elsewhere
		n = d.node(n.address)
		slot.Store(n)
	}
	return n
}

// anyone is a node that has slots, and a connection if possible.
func (d *Driver) anyone() *node {
	masters := *d.masters.Load()
	at := slices.IndexFunc(masters, func(n *node) bool {
		return n.server.Load() != nil && n.serving.Load() && !n.closed()
	})
	return d.node(masters[max(at, 0)].address)
}

// openMemory is for how long a slot counts as open after that was seen.
const openMemory = 3 * time.Second

// openSlot is on its way to a target, from the server that has it as yet.
type openSlot struct {
	target string // address
	until  time.Time
}

// target is the address that an open slot is on its way to, empty of any other slot.
func (d *Driver) target(slot int) string {
	if o := d.open[slot].Load(); o != nil && time.Now().Before(o.until) {
		return o.target
	}
	return ""
}

// opened takes note that a slot is open. Listeners then hear its target as well.
func (d *Driver) opened(to redirection) {
	d.node(to.address).serving.Store(true)
	news := d.target(to.slot) != to.address
	d.open[to.slot].Store(&openSlot{to.address, time.Now().Add(openMemory)})
	if news {
		d.spawn(d.reroute)
	}
}

// moved takes note of who has a slot. The whole map follows in the background: slots
// seldom move alone. A server that names its own address is another one than the address
// leads to by now, and is connected to anew.
func (d *Driver) moved(from *node, to redirection) {
	if to.address == from.address {
		d.renew(from)
	}
	n := d.node(to.address)
	n.serving.Store(true)
	d.slots[to.slot].Store(n)
	d.refreshSoon(to.address)
}

// renew closes a node whose connection leads to the wrong server, unless it is new: its
// address may lead there still. Whoever needs the node next makes another one.
func (d *Driver) renew(n *node) {
	if time.Now().Before(n.fresh) || !n.closeNow() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		delete(d.nodes, n.address)
		d.work.Go(n.shut)
	}
}

// redirected takes in what a node said of a slot. It is false for any other reply.
func (d *Driver) redirected(n *node, err error) (redirection, bool) {
	to, ok := parseRedirection(err, n.address)
	switch {
	case !ok:
	case to.asking:
		d.opened(to)
	default:
		d.moved(n, to)
	}
	return to, ok
}

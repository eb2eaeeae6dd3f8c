package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
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
		n = newNode(address, d.options, d.spawn)
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
	first := rand.IntN(len(masters))
	for i := range masters {
		n := masters[(first+i)%len(masters)]
		if n.server.Load() != nil && n.serving.Load() && !n.closed() {
			return n
		}
	}
	return d.node(masters[first].address)
}

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
	"github.com/redlatch/redlatch/driver/internal/call"
)

var (
	_ driver.Bounded = (*Driver)(nil)
	_ driver.Sharded = (*Driver)(nil)
)

// Driver is the connection to one Redis Cluster. It implements driver.Driver,
// driver.Bounded and driver.Sharded.
type Driver struct {
	options Options
	// shardMessages is set by Open.
	shardMessages bool

	// slots says which node has a slot; nil if none is known to.
	slots [driver.Slots]atomic.Pointer[node]
	// migrations says which slots were seen migrating lately.
	migrations [driver.Slots]atomic.Pointer[migration]
	masters    atomic.Pointer[[]*node] // the nodes that have slots; never empty after Open
	// refreshWanted has capacity one: the topology loop is to ask for the slot map.
	refreshWanted chan struct{}

	// life ends when Close begins, under mu.
	life context.Context
	end  context.CancelFunc
	// work counts the driver's goroutines. It is added to under mu, and only while the
	// driver is open.
	work sync.WaitGroup

	mu        sync.Mutex
	nodes     map[string]*node // by address, those that are not closed
	listeners map[*listener]struct{}
	epoch     int64  // of the slot map
	hint      string // the server to ask for the slot map first
}

// Open asks one of the addresses for the slot map, connects to the masters, and asks them
// whether they know shard messages. It waits a second at most for a master that does not
// answer. It blocks until all this is done, until ctx ends, or until the command timeout has
// passed.
//
// The error is a *driver.OptionError if an option cannot work. It wraps a
// *driver.ServerError if the servers refused, and otherwise the errors of Connect or of ctx.
// It names the addresses. An Open that failed leaves nothing behind.
func Open(ctx context.Context, options Options) (*Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	d := &Driver{
		options: options, refreshWanted: make(chan struct{}, 1),
		nodes: make(map[string]*node), listeners: make(map[*listener]struct{}),
	}
	d.masters.Store(new([]*node))
	d.life, d.end = context.WithCancel(context.Background())
	attempt, cancel := call.Bound(ctx, time.Now(), options.CommandTimeout)
	defer cancel()
	if err := d.refresh(attempt); err != nil {
		d.Close()
		return nil, fmt.Errorf("connect to redis cluster %s: %w", strings.Join(options.Addresses, ","), err)
	}
	d.shardMessages = d.knowShardMessages(attempt)
	d.spawn(d.keepTopology)
	return d, nil
}

// CommandTimeout is the time within which every call ends by itself, except
// DedicatedPipeline. See driver.Bounded.
func (d *Driver) CommandTimeout() time.Duration { return d.options.CommandTimeout }

// Shard is the address of the server that has key now, as far as is known, and empty if
// none is known to. See driver.Sharded.
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
	d.end()
	nodes, listeners := d.nodes, d.listeners
	d.nodes, d.listeners = nil, nil
	d.mu.Unlock()
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
func (d *Driver) spawn(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() == nil {
		d.work.Go(f)
	}
}

// nodeOf is the node that has a key, as far as is known.
func (d *Driver) nodeOf(key string) *node {
	if key == "" {
		return d.anyNode()
	}
	slot := &d.slots[driver.Slot(key)]
	n := slot.Load()
	if n == nil {
		d.refreshSoon("")
		return d.anyNode() // it redirects, or refuses
	}
	if n.closed() { // until the slot map is corrected
		n = d.node(n.address)
		slot.Store(n)
	}
	return n
}

// anyNode is a node that has slots, and a connection if possible.
func (d *Driver) anyNode() *node {
	masters := *d.masters.Load()
	at := slices.IndexFunc(masters, func(n *node) bool {
		return n.server.Load() != nil && n.serving.Load() && !n.closed()
	})
	return d.node(masters[max(at, 0)].address)
}

// node returns the node with an address, a new one if there is none. It is closed if the
// driver is.
func (d *Driver) node(address string) *node {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[address]
	if n == nil {
		n = newNode(d, address)
		if d.life.Err() != nil {
			n.closeNow()
			return n
		}
		d.nodes[address] = n
	}
	return n
}

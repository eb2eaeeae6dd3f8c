package cluster

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// The pause between two attempts to connect doubles from the first to the last.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// jittered is a pause that is up to half shorter, at random, so that the clients of a
// server that comes back do not all return at the same moment.
func jittered(pause time.Duration) time.Duration { return pause - rand.N(pause/2+1) }

// node is one server of the cluster, and the driver for it, from the first call on.
type node struct {
	driver  *Driver
	address string
	// fresh is until when the node is too young to be renewed.
	fresh time.Time
	// life ends when the node is closed.
	life context.Context
	end  context.CancelFunc

	// server is nil until there is a connection, and set before ready is closed.
	server atomic.Pointer[server]
	ready  chan struct{}
	// failed is closed when an attempt to connect has failed for the first time.
	failed chan struct{}
	begin  sync.Once

	// calls counts the calls under way; when the node is closed it drops far below zero
	// for ever. apart are those of them that may take long.
	calls, apart atomic.Int64
	// heard counts signs of life.
	heard atomic.Int64
	// serving says that it has slots.
	serving atomic.Bool

	mu     sync.Mutex
	reason error // why the latest attempt to connect failed

	// What the keeper saw. The Driver's mutex guards it.
	seen           int64 // of heard
	silence, peace int   // looks in a row at a node that owes answers, or has no calls
}

// server is a driver that can be pointed at.
type server struct{ driver.Driver }

func newNode(d *Driver, address string) *node {
	n := &node{
		driver: d, address: address, fresh: time.Now().Add(jittered(2 * lastPause)),
		ready: make(chan struct{}), failed: make(chan struct{}),
	}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// enter keeps the node from being let go until leave. It fails if it has been.
func (n *node) enter() bool {
	if n.calls.Add(1) > 0 {
		return true
	}
	n.calls.Add(-1)
	return false
}

func (n *node) leave() { n.calls.Add(-1) }

// closed is the number of calls of a node that takes no more of them.
const closed = math.MinInt64 / 2

func (n *node) closed() bool { return n.calls.Load() < 0 }

// closeIdle closes the node if it has no calls. Shut has to follow.
func (n *node) closeIdle() bool { return n.calls.CompareAndSwap(0, closed) }

// closeNow closes the node under its calls, which fail. Shut has to follow.
func (n *node) closeNow() bool {
	for {
		calls := n.calls.Load()
		if calls < 0 {
			return false
		}
		if n.calls.CompareAndSwap(calls, calls+closed) {
			return true
		}
	}
}

// shut ends the connections of a node that was closed.
func (n *node) shut() {
	n.mu.Lock()
	n.end()
	s := n.server.Load()
	n.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// reach waits for the connection, having it made if nobody has before, for the command
// timeout at most. It gives up when giveUp is closed, which may be nil. The error
// matches driver.ErrNotSent and tells why there is no connection.
func (n *node) reach(ctx context.Context, giveUp <-chan struct{}) (driver.Driver, error) {
	if s := n.server.Load(); s != nil {
		return s.Driver, nil
	}
	ctx, cancel := n.driver.options.bounded(ctx, time.Now())
	defer cancel()
	n.begin.Do(func() { n.driver.spawn(n.connect) })
	select {
	case <-n.ready:
		return n.server.Load().Driver, nil
	case <-n.life.Done():
		return nil, notSent(errRetired)
	case <-giveUp:
		return nil, n.unreached(driver.ErrNoConnection)
	case <-ctx.Done():
		return nil, n.unreached(fmt.Errorf("%w, %w", ended(ctx), driver.ErrNoConnection))
	}
}

// unreached explains why something was not sent, with what is wrong with the connection.
func (n *node) unreached(why error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reason != nil {
		why = fmt.Errorf("%w: %w", why, n.reason)
	}
	return fmt.Errorf("redis %s: %w: %w", n.address, driver.ErrNotSent, why)
}

// connect tries until there is a connection or the node is closed.
func (n *node) connect() {
	pause := firstPause
	for n.life.Err() == nil {
		attempt, cancel := n.driver.options.bounded(n.life, time.Now())
		d, err := n.driver.options.Connect(attempt, n.address)
		cancel()
		if err == nil {
			n.install(d)
			return
		}
		n.fail(err)
		rest(n.life, jittered(pause))
		pause = min(2*pause, lastPause)
	}
}

// install makes the driver the one that callers use, unless the node is closed.
func (n *node) install(d driver.Driver) {
	n.mu.Lock()
	over := n.life.Err() != nil
	if !over {
		n.server.Store(&server{d})
		close(n.ready)
	}
	n.mu.Unlock()
	if over {
		d.Close()
	}
}

func (n *node) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.reason == nil {
		close(n.failed)
	}
	n.reason = foreign{err}
}

// look is what the keeper does once in a while, to see which calls get no answers.
func (n *node) look() {
	heard, calls := n.heard.Load(), n.calls.Load()
	if n.silence++; heard != n.seen || calls <= n.apart.Load() {
		n.silence = 0
	}
	if n.peace++; calls != 0 {
		n.peace = 0
	}
	n.seen = heard
}

// doubt is 1 for a node that seems not to answer, and 0 for any other.
func (n *node) doubt() int {
	if n.silence >= silentLooks || n.server.Load() == nil {
		return 1
	}
	return 0
}

// rest waits for a pause, or the end of ctx.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

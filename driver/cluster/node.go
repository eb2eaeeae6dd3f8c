package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/pause"
)

// errNodeClosed is what a node answers that was closed.
var errNodeClosed = errors.New("server let go, or driver closed")

// node is one server of the cluster, and the driver for it, from the first call on.
type node struct {
	driver  *Driver
	address string
	// keptUntil is until when the node is too new to be closed as stale.
	keptUntil time.Time
	// life ends when the node is closed.
	life context.Context
	end  context.CancelFunc

	// server is nil until there is a connection, and set before ready is closed.
	server atomic.Pointer[driver.Driver]
	ready  chan struct{}
	// failed is closed when an attempt to connect has failed for the first time.
	failed chan struct{}
	begin  sync.Once

	// calls counts the calls under way; when the node is closed it drops far below zero
	// for ever. dedicated are those of them that may take long.
	calls, dedicated atomic.Int64
	// answers counts signs of life.
	answers atomic.Int64
	// serving says that it has slots.
	serving atomic.Bool

	mu     sync.Mutex
	reason error // why the latest attempt to connect failed

	// What the topology loop saw. The Driver's mutex guards it.
	seen          int64 // of answers
	silence, idle int   // checks in a row without an answer to calls, or without calls
}

func newNode(d *Driver, address string) *node {
	n := &node{
		driver: d, address: address, keptUntil: time.Now().Add(pause.Jittered(2 * call.LastPause)),
		ready: make(chan struct{}), failed: make(chan struct{}),
	}
	n.life, n.end = context.WithCancel(d.life)
	return n
}

// reach waits for the connection, and has it made at the first call. It waits for the command
// timeout at most, and until giveUp is closed, which may be nil. The error
// matches driver.ErrNotSent and says why there is no connection.
func (n *node) reach(ctx context.Context, giveUp <-chan struct{}) (driver.Driver, error) {
	if s := n.server.Load(); s != nil {
		return *s, nil
	}
	ctx, cancel := call.Bound(ctx, time.Now(), n.driver.options.CommandTimeout)
	defer cancel()
	n.begin.Do(func() { n.driver.spawn(n.connect) })
	select {
	case <-n.ready:
		return *n.server.Load(), nil
	case <-n.life.Done():
		return nil, notSent(errNodeClosed)
	case <-giveUp:
		return nil, n.unreached(driver.ErrNoConnection)
	case <-ctx.Done():
		return nil, n.unreached(fmt.Errorf("%w, %w", call.Ended(ctx), driver.ErrNoConnection))
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

// notSent reports a command that certainly did not leave.
func notSent(reason error) error {
	return fmt.Errorf("redis cluster: %w: %w", driver.ErrNotSent, reason)
}

// connect tries until there is a connection or the node is closed.
func (n *node) connect() {
	backoff := call.Backoff()
	for n.life.Err() == nil {
		attempt, cancel := call.Bound(n.life, time.Now(), n.driver.options.CommandTimeout)
		d, err := call.Run(attempt, n.driver.options.aside, "Connect",
			func() (driver.Driver, error) { return n.driver.options.Connect(attempt, n.address) }, driver.Driver.Close)
		cancel()
		if err == nil {
			n.install(guest.Driver(d))
			return
		}
		n.fail(err)
		_ = backoff.Wait(n.life)
	}
}

// install makes the driver the one that callers use, unless the node is closed.
func (n *node) install(d driver.Driver) {
	n.mu.Lock()
	over := n.life.Err() != nil
	if !over {
		n.server.Store(&d)
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
	n.reason = pause.NotOfCaller(err)
}

// enter keeps the node from being closed as idle until leave. It fails if the node is closed.
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
	for calls := n.calls.Load(); calls >= 0; calls = n.calls.Load() {
		if n.calls.CompareAndSwap(calls, calls+closed) {
			return true
		}
	}
	return false
}

// shut ends the connections of a node that was closed.
func (n *node) shut() {
	n.mu.Lock()
	n.end()
	s := n.server.Load()
	n.mu.Unlock()
	if s != nil {
		(*s).Close()
	}
}

// check is what the topology loop does repeatedly, to see which calls get no answers.
func (n *node) check() {
	answers, calls := n.answers.Load(), n.calls.Load()
	if n.silence++; answers != n.seen || calls <= n.dedicated.Load() {
		n.silence = 0
	}
	if n.idle++; calls != 0 {
		n.idle = 0
	}
	n.seen = answers
}

// suspect is 1 for a node that seems not to answer, and 0 for any other.
func (n *node) suspect() int {
	if n.silence >= silentChecks || n.server.Load() == nil {
		return 1
	}
	return 0
}

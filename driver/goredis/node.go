package goredis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

var _ driver.Bounded = (*node)(nil)

// maxDedicated is the number of connections that dedicated pipelines take from the client's pool at
// most. They take no more than half of a small pool.
const maxDedicated = 8

// source is where a node has its client from.
type source interface {
	find(ctx context.Context) (*redis.Client, error)
	// lost is told that a client is closed. A cluster client closes that of a server which is gone, and
	// makes another one if the server comes back.
	lost(*redis.Client)
}

// fixed is the source of a client that is never replaced.
type fixed struct{ client *redis.Client }

func (f fixed) find(context.Context) (*redis.Client, error) { return f.client, nil }
func (f fixed) lost(*redis.Client)                          {}

// node is the driver of one server, by a client for that server.
type node struct {
	name    string // of the server, in errors
	options options
	source  source
	// floating says that the source may return the client of another server after a failure.
	floating bool

	// client is what the source has returned, nil if that is closed.
	client atomic.Pointer[clients]

	// waits are of *wait, which are used again: by this node alone, because a timer or a channel of a testing/synctest
	// bubble is of no use in another one.
	waits sync.Pool

	// life ends when Close begins, under mu.
	life context.Context
	end  context.CancelFunc

	mu        sync.Mutex
	link      *link         // nil until it is needed, and again when it is over
	queue     []*sending    // calls that wait for it
	server    call.Identity // of the latest link; every other connection leads there
	backoff   pause.Backoff // between attempts to make a link
	wait      time.Duration // before the next one
	aside     call.Aside    // makes the connections of listeners
	listeners map[*listener]struct{}
}

// wait is what a call waits with.
type wait struct {
	timeout *time.Timer
	done    chan struct{} // sending.done
}

// clients are a client and what it is used with.
type clients struct {
	original *redis.Client
	// places has a token for each dedicated pipeline.
	places chan struct{}
}

func newNode(name string, o options, from source) *node {
	n := &node{name: name, options: o, source: from, listeners: make(map[*listener]struct{}), backoff: call.Backoff(), aside: call.NewAside()}
	n.life, n.end = context.WithCancel(context.Background())
	n.waits.New = func() any { return &wait{time.NewTimer(time.Hour), make(chan struct{}, 1)} }
	return n
}

// CommandTimeout is the time within which every call ends by itself, except DedicatedPipeline. See
// driver.Bounded.
func (n *node) CommandTimeout() time.Duration { return n.options.timeout }

// RunID is that of the server of the latest link. See driver.Identified.
func (n *node) RunID() (run string, moves int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server.RunID()
}

// Do sends one command. See driver.Driver.
func (n *node) Do(ctx context.Context, command driver.Command) driver.Reply {
	return n.pipeline(ctx, make([]driver.Reply, 1), command)[0]
}

// DoTwo is Pipeline for two commands. It takes less memory.
func (n *node) DoTwo(ctx context.Context, one, two driver.Command) (driver.Reply, driver.Reply) {
	replies := n.pipeline(ctx, make([]driver.Reply, 2), one, two)
	return replies[0], replies[1]
}

// Pipeline sends the commands on the link. See driver.Driver.
func (n *node) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	return n.pipeline(ctx, make([]driver.Reply, len(commands)), commands...)
}

// pipeline is Pipeline, which may put the replies into memory of its caller.
func (n *node) pipeline(ctx context.Context, replies []driver.Reply, commands ...driver.Command) []driver.Reply {
	if err := n.check(ctx, commands); err != nil {
		return call.FailAll(len(commands), err)
	}
	w, began := n.waits.Get().(*wait), time.Now()
	s := newSending(ctx, commands, w.done)
	n.submit(s, began)
	w.timeout.Reset(n.options.timeout)
	replies = n.replies(ctx, w.timeout.C, s, replies)
	w.timeout.Stop()
	if s.ended { // the link does not use w.done any more
		n.waits.Put(w)
	}
	return replies
}

// check says why none of the commands can be sent.
func (n *node) check(ctx context.Context, commands []driver.Command) error {
	err := call.Check(ctx, commands...)
	if err == nil && n.life.Err() != nil {
		err = call.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("redis %s: %w: %w", n.name, driver.ErrNotSent, err)
	}
	return nil
}

// present returns the client.
func (n *node) present(ctx context.Context) (*clients, error) {
	if c := n.client.Load(); c != nil {
		return c, nil
	}
	original, err := n.source.find(ctx)
	if err != nil {
		return nil, err
	}
	c := &clients{
		original: original,
		places:   make(chan struct{}, max(1, min(maxDedicated, poolSize(original)/2))),
	}
	if !n.client.CompareAndSwap(nil, c) {
		return n.present(ctx)
	}
	return c, nil
}

// replies waits for the replies to a call, which it may put into memory of its caller.
func (n *node) replies(ctx context.Context, timeout <-chan time.Time, s *sending, replies []driver.Reply) []driver.Reply {
	if err := n.await(ctx, timeout, s); err != nil {
		return call.FailAll(len(s.commands), err)
	}
	for i := range s.commands {
		if replies[i] = convert(&s.commands[i]); replies[i].Err != nil {
			replies[i].Err = n.unknown(pause.NotOfCaller(replies[i].Err))
		}
	}
	return replies
}

// await waits for the end of a call, until ctx or the driver ends, or the command timeout has passed.
func (n *node) await(ctx context.Context, timeout <-chan time.Time, s *sending) error {
	var over error
	select {
	case <-s.done:
		s.ended = true
	case <-ctx.Done():
		over = call.Ended(ctx)
	case <-timeout:
		over = call.NoAnswer(n.options.timeout)
	case <-n.life.Done():
		over = call.ErrClosed
	}
	if len(s.done) > 0 { // at the same time
		<-s.done
		s.ended = true
	}
	switch {
	case !s.ended && s.withdraw():
		return n.unreached(over)
	case !s.ended:
		return n.unknown(over)
	case s.err != nil && s.withdraw():
		return n.unreached(pause.NotOfCaller(refusal(s.err)))
	case s.left:
		return n.unknown(errLeft)
	}
	return nil
}

// failed has the next call look for a client again if this one is closed, or may be at a dead server.
func (n *node) failed(c *clients, err error) {
	closed := errors.Is(err, redis.ErrClosed)
	if closed {
		n.source.lost(c.original)
	}
	if closed || n.floating {
		n.client.CompareAndSwap(c, nil)
	}
}

// unreached reports commands that were not written. A link that is busy, and a pool whose connections are
// all in use, say nothing about the server.
func (n *node) unreached(err error) error {
	_, ready := n.latest()
	c := n.client.Load()
	switch {
	case n.life.Err() != nil:
		err = call.ErrClosed
	case ready:
		err = fmt.Errorf("%w, behind other calls", err)
	case c != nil && (isPoolError(err) || n.usedUp(c.original)):
		err = fmt.Errorf("all %d connections of the client's pool are in use: %w", poolSize(c.original), err)
	default:
		return n.notSent(err)
	}
	return fmt.Errorf("redis %s: %w: %w", n.name, driver.ErrNotSent, err)
}

// usedUp says that the application uses all connections of a client's pool.
func (n *node) usedUp(c *redis.Client) bool {
	stats := c.PoolStats()
	return int(stats.TotalConns) >= poolSize(c) && stats.IdleConns == 0
}

// poolSize is how many connections a client's pool has at most. Beyond PoolSize go-redis waits, beyond MaxActiveConns it
// fails.
func poolSize(c *redis.Client) int {
	if o := c.Options(); o.MaxActiveConns > 0 {
		return min(o.PoolSize, o.MaxActiveConns)
	}
	return c.Options().PoolSize
}

// isPoolError knows the errors of a pool by their text, for go-redis before 9.9 does not export them.
func isPoolError(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "connection pool timeout") || strings.Contains(err.Error(), "connection pool exhausted"))
}

// notSent reports what certainly never left, because there was no connection.
func (n *node) notSent(err error) error {
	if errors.Is(err, driver.ErrNotSent) {
		return err
	}
	return fmt.Errorf("redis %s: %w: %w: %w", n.name, driver.ErrNotSent, driver.ErrNoConnection, refusal(err))
}

// unknown reports a command that may have been carried out, unless the server refused it.
func (n *node) unknown(err error) error {
	if refused, ok := err.(*driver.ServerError); ok {
		return refused
	}
	return fmt.Errorf("redis %s: %w", n.name, err)
}

// latest is the server of the latest link, and whether that link is ready.
func (n *node) latest() (server call.Identity, ready bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server, n.link != nil && n.link.ready
}

// connected waits for the link. It returns its server, and the client.
func (n *node) connected(ctx context.Context) (call.Identity, *clients, error) {
	server, ready := n.latest()
	if !ready {
		bounded, cancel := n.bound(ctx)
		defer cancel()
		nothing := newSending(ctx, nil, make(chan struct{}, 1))
		n.submit(nothing, time.Now())
		if err := n.await(bounded, nil, nothing); err != nil {
			return server, nil, err
		}
		server, _ = n.latest()
	}
	c, err := n.present(ctx)
	return server, c, err
}

// Close ends the listeners and the calls, and leaves the client open. The connection of a call that was
// under way returns to the client's pool with the reply, or ends with the client's timeout.
func (n *node) Close() {
	n.mu.Lock()
	n.end()
	listeners := slices.Collect(maps.Keys(n.listeners))
	n.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
}

// bound is ctx, which ends with the driver, and when the command timeout has passed.
func (n *node) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := call.Bound(ctx, time.Now(), n.options.timeout)
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(n.life, func() { end(call.ErrClosed) })
	return ctx, func() { stop(); end(nil); cancel() }
}

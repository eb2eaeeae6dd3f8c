package goredis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
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
	// alone says that the server is not one of a cluster. Nobody else then tells the listeners that
	// they are at a former server.
	alone bool
	// floating says that the source may return the client of another server after a failure.
	floating bool

	// client is what the source has returned, nil if that is closed.
	client atomic.Pointer[clients]

	// life ends when Close begins, under mu.
	life context.Context
	end  context.CancelFunc

	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// clients are a client and what it is used with.
type clients struct {
	original *redis.Client
	// places has a token for each dedicated pipeline.
	places chan struct{}
}

func newNode(name string, o options, from source) *node {
	n := &node{name: name, options: o, source: from, listeners: make(map[*listener]struct{})}
	n.life, n.end = context.WithCancel(context.Background())
	return n
}

// CommandTimeout is the time within which every call ends by itself, except DedicatedPipeline. See
// driver.Bounded.
func (n *node) CommandTimeout() time.Duration { return n.options.timeout }

// Do sends one command. See driver.Driver.
func (n *node) Do(ctx context.Context, command driver.Command) driver.Reply {
	return n.Pipeline(ctx, command)[0]
}

// Pipeline sends the commands on one connection of the client's pool. See driver.Driver.
func (n *node) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := n.check(ctx, commands); err != nil {
		return call.FailAll(len(commands), err)
	}
	ctx, cancel := call.Bound(ctx, time.Now(), n.options.timeout)
	defer cancel()
	c, err := n.present(ctx)
	if err != nil {
		return call.FailAll(len(commands), n.notSent(ctx, err))
	}
	s := newSending(commands)
	go s.run(undated{ctx}, c.original)
	return n.await(ctx, c, s)
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
		places:   make(chan struct{}, max(1, min(maxDedicated, original.Options().PoolSize/2))),
	}
	if !n.client.CompareAndSwap(nil, c) {
		return n.present(ctx)
	}
	return c, nil
}

// await waits for the replies, until ctx or the driver ends.
func (n *node) await(ctx context.Context, c *clients, s *sending) []driver.Reply {
	select {
	case <-s.done:
	case <-ctx.Done():
	case <-n.life.Done():
	}
	select {
	case <-s.done: // also if the other has ended at the same time
	default:
		err := n.ended(ctx)
		n.failed(c, err)
		if s.withdraw() {
			err = n.unreached(ctx, c, err)
		} else {
			err = n.unknown(ctx, err)
		}
		return call.FailAll(len(s.commands), err)
	}
	if s.err != nil && s.withdraw() {
		n.failed(c, s.err)
		return call.FailAll(len(s.commands), n.unreached(ctx, c, s.err))
	}
	replies := make([]driver.Reply, len(s.commands))
	for i, sent := range s.commands {
		if replies[i] = convert(sent); replies[i].Err != nil {
			replies[i].Err = n.unknown(ctx, replies[i].Err)
		}
	}
	return replies
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

// ended is why a call gives up.
func (n *node) ended(ctx context.Context) error {
	if over := call.Ended(ctx); over != nil {
		return over
	}
	return call.ErrClosed
}

// unreached reports commands that got no connection. A pool whose connections are all in use says
// nothing about the server.
func (n *node) unreached(ctx context.Context, c *clients, err error) error {
	stats, size := c.original.PoolStats(), c.original.Options().PoolSize
	if isPoolTimeout(err) || int(stats.TotalConns) >= size && stats.IdleConns == 0 && ctx.Err() != nil {
		return fmt.Errorf("redis %s: %w: all %d connections of the client's pool are in use: %w",
			n.name, driver.ErrNotSent, size, n.reason(ctx, err))
	}
	return n.notSent(ctx, err)
}

// isPoolTimeout knows redis.ErrPoolTimeout by its text, for go-redis before 9.9 does not export it.
func isPoolTimeout(err error) bool {
	return err != nil && strings.Contains(err.Error(), "connection pool timeout")
}

// notSent reports commands that certainly never left, because there was no connection.
func (n *node) notSent(ctx context.Context, err error) error {
	if n.life.Err() != nil {
		return fmt.Errorf("redis %s: %w: %w", n.name, driver.ErrNotSent, call.ErrClosed)
	}
	return fmt.Errorf("redis %s: %w: %w: %w", n.name, driver.ErrNotSent, driver.ErrNoConnection, n.reason(ctx, refusal(err)))
}

// unknown reports a command that may have been carried out, unless the server refused it.
func (n *node) unknown(ctx context.Context, err error) error {
	if refused, ok := err.(*driver.ServerError); ok {
		return refused
	}
	return fmt.Errorf("redis %s: %w", n.name, n.reason(ctx, err))
}

// reason is err, or why the call's own time is over. It is never the end of anybody else's context.
func (n *node) reason(ctx context.Context, err error) error {
	if over := call.Ended(ctx); over != nil {
		return over
	}
	return call.NotOfCaller(err)
}

// Close ends the listeners and the calls, and leaves the client open. The connection of a call that was
// under way returns to the client's pool with the reply, or ends with the client's timeout.
func (n *node) Close() {
	n.mu.Lock()
	n.end()
	listeners := n.listeners
	n.listeners = nil
	n.mu.Unlock()
	for l := range listeners {
		l.Close()
	}
}

// undated is a context without its deadline. go-redis takes a deadline for the socket's, and its
// error for that of the network. The end of the context reaches go-redis all the same.
type undated struct{ context.Context }

func (undated) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

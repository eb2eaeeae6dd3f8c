package goredis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

var _ driver.ShardListener = (*listener)(nil)

// never is a context that has ended. With it, go-redis uses the connection of a PubSub but makes no
// other one: a PubSub would connect again by itself, and tell nobody that messages were lost.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// listener is one subscription connection.
type listener struct {
	node     *node
	events   driver.Events
	pubsub   *redis.PubSub
	run      string       // identifies the server process, if it says so
	received atomic.Int64 // what has come from the server
	panicked bool         // receive has
	done     chan struct{}

	// writing is held while a request is noted and written, so that both have one order. It is taken
	// before mu.
	writing sync.Mutex
	mu      sync.Mutex
	open    []*request
	sent    int              // requests
	leaving map[string][]int // the numbers of requests to unsubscribe from a shard's channel that are under way
}

// Listen opens a connection for subscriptions by the client's PubSub. See driver.Driver.
func (n *node) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if err := n.check(ctx, nil); err != nil {
		return nil, err
	}
	ctx, cancel := call.Bound(ctx, time.Now(), n.options.timeout)
	defer cancel()
	c, err := n.present(ctx)
	if err != nil {
		return nil, n.notSent(ctx, err)
	}
	l := &listener{
		node: n, events: events, pubsub: c.original.WithTimeout(n.options.timeout).Subscribe(never), done: make(chan struct{}), leaving: make(map[string][]int),
	}
	before := n.runID(ctx)
	if err := l.connect(ctx); err != nil {
		n.failed(c, err)
		return nil, n.unreached(ctx, c, err)
	}
	if l.run = n.runID(ctx); l.run != before {
		_ = l.pubsub.Close()
		return nil, n.notSent(ctx, fmt.Errorf("the client has changed from server process %q to %q", before, l.run))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life.Err() != nil {
		_ = l.pubsub.Close()
		return nil, n.notSent(ctx, call.ErrClosed)
	}
	n.listeners[l] = struct{}{}
	go l.receive()
	go l.watch()
	return l, nil
}

// connect makes the connection. If ctx or the driver ends meanwhile, a connection that is made later
// is closed.
func (l *listener) connect(ctx context.Context) error {
	made := make(chan error, 1)
	go func() { made <- l.ping(undated{ctx}) }()
	select {
	case err := <-made:
		if err != nil {
			_ = l.pubsub.Close()
		}
		return err
	case <-ctx.Done():
	case <-l.node.life.Done():
	}
	go func() {
		<-made
		_ = l.pubsub.Close()
	}()
	return l.node.ended(ctx)
}

// guarded turns a panic of go-redis, or of a hook while go-redis connects, into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic in go-redis or in a hook: %v", cause)
		}
	}()
	return f()
}

func (l *listener) ping(ctx context.Context) error {
	return guarded(func() error { return l.pubsub.Ping(ctx) })
}

// receive delivers what comes from the server, until the connection ends or the server sends what it
// was not asked for.
func (l *listener) receive() {
	defer l.finish()
	defer func() { // go-redis takes the form of a message for granted
		if recover() != nil {
			l.panicked = true
		}
	}()
	for {
		value, err := l.pubsub.Receive(never)
		l.received.Add(1)
		switch {
		case err != nil && isReply(err):
			l.refused(refusal(err).(*driver.ServerError))
		case err != nil:
			return
		default:
			if !l.deliver(value) {
				return
			}
		}
	}
}

// deliver passes an event on. It is false for an acknowledgement that nobody waits for: go-redis has
// subscribed on another connection.
func (l *listener) deliver(value any) bool {
	switch v := value.(type) {
	case *redis.Message:
		if l.events.Message != nil {
			l.events.Message(v.Channel, v.Payload)
		}
	case *redis.Subscription:
		switch v.Kind {
		case "subscribe", "ssubscribe":
			if !l.acknowledged(v.Kind == "ssubscribe", v.Channel) {
				return false
			}
			if l.events.Subscribed != nil {
				l.events.Subscribed(v.Channel)
			}
		case "sunsubscribe":
			if !l.left(v.Channel) && l.events.Evicted != nil {
				l.events.Evicted(v.Channel)
			}
		}
	}
	return true
}

// finish frees what belonged to the listener. No event can follow.
func (l *listener) finish() {
	if !l.panicked { // or its mutex may be locked for ever
		_ = l.pubsub.Close()
	}
	l.node.mu.Lock()
	delete(l.node.listeners, l)
	l.node.mu.Unlock()
	close(l.done)
}

// watch ends the listener if the server is silent, and does not even answer a PING within the command
// timeout. It also does so if commands go to another server process by now: after a failover the
// former primary may live on in silence.
func (l *listener) watch() {
	tick := time.NewTicker(l.node.options.timeout)
	defer tick.Stop()
	var seen int64
	pinged := false
	for {
		select {
		case <-tick.C:
		case <-l.done:
			return
		}
		received := l.received.Load()
		silent := received == seen
		if seen = received; silent && pinged || l.former() {
			_ = l.pubsub.Close()
			return
		}
		if pinged = silent; pinged {
			_ = l.ping(never) // a failure shows in the next round
		}
	}
}

// former says that commands go to another server process than the listener's.
func (l *listener) former() bool {
	if l.run == "" {
		return false
	}
	run := l.node.runID(l.node.life)
	return run != "" && run != l.run
}

// Done is closed when the connection is gone and the last event delivered.
func (l *listener) Done() <-chan struct{} { return l.done }

// Close ends the connection. No event is delivered after it has returned. It must not be called from
// within an event.
func (l *listener) Close() {
	go func() { _ = l.pubsub.Close() }()
	<-l.done
}

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
	"github.com/redlatch/redlatch/internal/pause"
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
	received atomic.Int64 // what has come from the server
	panicked atomic.Bool  // Receive has
	done     chan struct{}

	// delivery is held while an event is delivered. It guards over.
	delivery sync.Mutex
	over     bool

	// writing has a token while a request is noted and written, so that both have one order.
	writing chan struct{}
	checked bool // that it is at the server of the link; guarded by writing
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
	ctx, cancel := n.bound(ctx)
	defer cancel()
	server, c, err := n.connected(ctx)
	if err != nil {
		return nil, n.notSent(err)
	}
	l := &listener{
		node: n, events: events, pubsub: c.original.WithTimeout(n.options.timeout).Subscribe(never), done: make(chan struct{}),
		writing: make(chan struct{}, 1), leaving: make(map[string][]int),
	}
	closeIt := func(p *redis.PubSub) {
		if !l.panicked.Load() { // or its mutex may be locked for ever
			_ = p.Close()
		}
	}
	_, err = call.Run(ctx, n.aside, "client", func() (*redis.PubSub, error) { return l.pubsub, l.greet(call.Undated(ctx)) }, closeIt)
	if err == nil {
		err = n.own(l, server)
	}
	if err != nil {
		n.failed(c, err)
		go closeIt(l.pubsub) // it waits for the dialer
		if call.Ended(ctx) == nil {
			err = pause.NotOfCaller(err)
		}
		return nil, n.notSent(err)
	}
	go l.receive()
	go l.watch()
	return l, nil
}

// own makes the listener end with the driver, and with the server of the link.
func (n *node) own(l *listener, server call.Identity) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.life.Err() != nil:
		return call.ErrClosed
	case !n.server.Same(server):
		return call.ErrOther
	}
	n.listeners[l] = struct{}{}
	return nil
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

// greet connects, and waits for the first answer. The first Receive of a PubSub sets what its other methods read, without a mutex.
func (l *listener) greet(ctx context.Context) error {
	if err := l.ping(ctx); err != nil {
		return err
	}
	return guarded(func() error {
		defer func() {
			if cause := recover(); cause != nil { // from a hook, while go-redis connects again
				l.panicked.Store(true)
				panic(cause)
			}
		}()
		_, err := l.pubsub.Receive(never)
		if isReply(err) { // a user without the right to PING
			return nil
		}
		return err
	})
}

func (l *listener) ping(ctx context.Context) error {
	return guarded(func() error { return l.pubsub.Ping(ctx) })
}

// receive delivers what comes from the server, until the connection ends or the server sends what it
// was not asked for.
func (l *listener) receive() {
	defer l.end()
	defer func() { // go-redis takes the form of a message for granted
		if recover() != nil {
			l.panicked.Store(true)
		}
	}()
	for {
		value, err := l.pubsub.Receive(never)
		l.received.Add(1)
		switch {
		case err != nil && isReply(err):
			l.refused(refusal(err).(*driver.ServerError))
		case err != nil || !l.deliver(value):
			return
		}
	}
}

// deliver passes an event on. It is false if the listener is over, and for an acknowledgement that nobody
// waits for: go-redis has subscribed on another connection.
func (l *listener) deliver(value any) bool {
	l.delivery.Lock()
	defer l.delivery.Unlock()
	if l.over {
		return false
	}
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

// end ends the listener. No event is delivered after it has returned. It does not wait for go-redis, which
// may be connecting again by a dialer that ignores its context.
func (l *listener) end() {
	l.delivery.Lock()
	over := l.over
	l.over = true
	l.delivery.Unlock()
	if over {
		return
	}
	l.node.mu.Lock()
	delete(l.node.listeners, l)
	l.node.mu.Unlock()
	if !l.panicked.Load() { // or its mutex may be locked for ever
		go func() { _ = l.pubsub.Close() }()
	}
	close(l.done)
}

// watch ends the listener if the server is silent, and does not even answer a PING within the command
// timeout.
func (l *listener) watch() {
	tick := time.NewTicker(l.node.options.timeout)
	defer tick.Stop()
	var seen int64
	for pinged := false; ; {
		select {
		case <-tick.C:
		case <-l.done:
			return
		}
		received := l.received.Load()
		silent := received == seen
		if seen = received; silent && pinged {
			l.end()
			return
		}
		if pinged = silent; pinged {
			go func() { _ = l.ping(never) }() // a failure shows in the next round
		}
	}
}

// Done is closed when the connection is gone and the last event delivered.
func (l *listener) Done() <-chan struct{} { return l.done }

// Close ends the connection. No event is delivered after it has returned. It must not be called from
// within an event.
func (l *listener) Close() {
	l.end()
	<-l.done
}

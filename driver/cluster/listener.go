package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// listener receives the messages of the whole cluster.
type listener struct {
	driver *Driver
	events driver.Events
	done   chan struct{}
	finish sync.Once

	// life ends when Close of the listener or of the driver begins.
	life context.Context
	end  context.CancelFunc
	// work counts the subscribers' goroutines. It is added to under mu, and only while the
	// listener is open.
	work sync.WaitGroup

	// delivery is held while an event is delivered: events come from several servers, and
	// the receiver is promised one at a time. It is taken before mu.
	delivery sync.Mutex

	mu          sync.Mutex
	channels    map[string]*channel
	subscribers map[*node]*subscriber
}

// channel is one that the caller subscribed to. Its messages come from the server of its slot
// and, while that is migrating, from its target. The listener's mutex guards it.
type channel struct {
	slot         int
	home, target *subscriber // nil while there is none

	failures int       // in a row
	retryAt  time.Time // not to be requested before
}

// Listen returns a listener that has no connection yet: it makes one to each server that
// it needs, when it needs it. See driver.Driver and driver.Sharded.
func (d *Driver) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, notSent(err)
	}
	l := &listener{
		driver: d, events: events, done: make(chan struct{}),
		channels: make(map[string]*channel), subscribers: make(map[*node]*subscriber),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		return nil, notSent(call.ErrClosed)
	}
	l.life, l.end = context.WithCancel(d.life)
	d.listeners[l] = struct{}{}
	return l, nil
}

// Subscribe adds the channels, and does not wait for any server. It fails only if the
// listener is closed or ctx is over. A Subscribed event says when a subscription is
// complete, and again whenever messages may have been missed.
func (l *listener) Subscribe(ctx context.Context, channels ...string) error {
	return l.change(ctx, channels, l.add)
}

// Unsubscribe removes the channels, and does not wait for any server either.
func (l *listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return l.change(ctx, channels, l.remove)
}

func (l *listener) change(ctx context.Context, channels []string, change func(name string)) error {
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return notSent(call.ErrListenerClosed)
	}
	for _, name := range channels {
		change(name)
	}
	return nil
}

// add has a channel requested, also if it was before. The mutex is held.
func (l *listener) add(name string) {
	c := l.channels[name]
	if c == nil {
		c = &channel{slot: driver.Slot(name)}
		l.channels[name] = c
	}
	l.route(name, c)
	if c.home != nil {
		c.home.request(c.home.subscriptions[name])
	}
}

// remove forgets a channel. The mutex is held.
func (l *listener) remove(name string) {
	if c := l.channels[name]; c != nil {
		delete(l.channels, name)
		c.leave(name, nil, nil)
	}
}

// reroute gives every channel to the server that has its slot now, and ends the subscribers
// that have no channels any more.
func (l *listener) reroute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return
	}
	for name, c := range l.channels {
		l.route(name, c)
	}
	for n, s := range l.subscribers {
		if len(s.subscriptions) == 0 && (!n.serving.Load() || n.closed()) {
			delete(l.subscribers, n)
			s.stop()
		}
	}
}

// route gives a channel to the subscribers of its slot. The mutex is held.
func (l *listener) route(name string, c *channel) {
	var home, target *subscriber
	if n := l.driver.slots[c.slot].Load(); n != nil {
		home = l.subscriberAt(n)
	} else {
		l.driver.refreshSoon("")
	}
	if address := l.driver.target(c.slot); address != "" && l.driver.shardMessages {
		if n := l.driver.node(address); home != nil && n != home.node {
			target = l.subscriberAt(n)
		}
	}
	c.leave(name, home, target)
	if c.home = home; home != nil {
		home.add(name, c, false)
	}
	if c.target = target; target != nil {
		target.add(name, c, true) // what is published to all servers arrives at home
	}
}

// leave takes a channel from its subscribers, except those two.
func (c *channel) leave(name string, home, target *subscriber) {
	for _, s := range [...]*subscriber{c.home, c.target} {
		if s != nil && s != home && s != target {
			s.remove(name)
		}
	}
}

// subscriberAt returns the subscriber of a node, a new one if there is none. The mutex is
// held.
func (l *listener) subscriberAt(n *node) *subscriber {
	s := l.subscribers[n]
	if s == nil {
		s = newSubscriber(l, n)
		l.subscribers[n] = s
		l.work.Go(s.run)
	}
	return s
}

// Done is closed by Close.
func (l *listener) Done() <-chan struct{} { return l.done }

// Close ends the connections and waits for the listener's goroutines. No event is
// delivered after it has returned. It must not be called from within an event.
func (l *listener) Close() {
	l.delivery.Lock()
	l.mu.Lock()
	l.end()
	l.mu.Unlock()
	l.delivery.Unlock()
	l.work.Wait()
	l.finish.Do(func() {
		l.driver.mu.Lock()
		delete(l.driver.listeners, l)
		l.driver.mu.Unlock()
		close(l.done)
	})
}

package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// listener hears the whole cluster.
type listener struct {
	driver *Driver
	events driver.Events
	done   chan struct{}
	finish sync.Once

	// life ends when Close begins.
	life context.Context
	end  context.CancelFunc
	// work counts the ears' goroutines. It is added to under mu, and only while the
	// listener is open.
	work sync.WaitGroup

	// voice is held while an event is delivered: they come from several servers, and
	// the receiver is promised one at a time. It is taken before mu.
	voice sync.Mutex

	mu       sync.Mutex
	closed   bool
	channels map[string]*channel
	ears     map[*node]*ear
}

// channel is one that somebody listens to: at the server of its slot and, while that is
// on its way, at its target. The listener's mutex guards it.
type channel struct {
	slot         int
	home, target *ear // nil while there is none

	setbacks int       // in a row
	backAt   time.Time // not to be asked for before
}

// Listen returns a listener that has no connection yet: it makes one to each server that
// it needs, when it needs it. See driver.Driver and driver.Sharded.
func (d *Driver) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, notSent(err)
	}
	l := &listener{
		driver: d, events: events, done: make(chan struct{}),
		channels: make(map[string]*channel), ears: make(map[*node]*ear),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, notSent(errClosed)
	}
	l.life, l.end = context.WithCancel(d.life)
	d.listeners[l] = struct{}{}
	return l, nil
}

// Subscribe takes the wish for messages of the channels, and does not wait for any
// server. It fails only if the listener is closed or ctx is over. Subscribed events tell
// when it has come true, and again whenever messages may have been missed.
func (l *listener) Subscribe(ctx context.Context, channels ...string) error {
	return l.change(ctx, channels, l.wish)
}

// Unsubscribe takes wishes back.
func (l *listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return l.change(ctx, channels, l.forget)
}

func (l *listener) change(ctx context.Context, channels []string, change func(name string)) error {
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return notSent(errListenerClosed)
	}
	for _, name := range channels {
		change(name)
	}
	return nil
}

// wish makes a channel a wish, whatever it was. The mutex is held.
func (l *listener) wish(name string) {
	c := l.channels[name]
	if c == nil {
		c = &channel{slot: driver.Slot(name)}
		l.channels[name] = c
	}
	l.place(name, c)
	if c.home != nil {
		c.home.wish(c.home.subscriptions[name])
	}
}

// forget ends the interest in a channel. The mutex is held.
func (l *listener) forget(name string) {
	if c := l.channels[name]; c != nil {
		delete(l.channels, name)
		c.leave(name, nil, nil)
	}
}

// place gives a channel to the ears where it is to be heard. The mutex is held.
func (l *listener) place(name string, c *channel) {
	var home, target *ear
	if n := l.driver.slots[c.slot].Load(); n != nil {
		home = l.earAt(n)
	} else {
		l.driver.refreshSoon("")
	}
	if address := l.driver.target(c.slot); address != "" && l.driver.shardMessages {
		if n := l.driver.node(address); home != nil && n != home.node {
			target = l.earAt(n)
		}
	}
	c.leave(name, home, target)
	if c.home = home; home != nil {
		home.take(name, c, false)
	}
	if c.target = target; target != nil {
		target.take(name, c, true) // what is published to all servers is heard at home
	}
}

// leave takes a channel from its ears, but those two.
func (c *channel) leave(name string, home, target *ear) {
	for _, e := range [...]*ear{c.home, c.target} {
		if e != nil && e != home && e != target {
			e.leave(name)
		}
	}
}

// earAt returns the ear at a node, a new one if there is none. The mutex is held.
func (l *listener) earAt(n *node) *ear {
	e := l.ears[n]
	if e == nil {
		e = newEar(l, n)
		l.ears[n] = e
		l.work.Go(e.run)
	}
	return e
}

// reroute gives every channel to the server that has its slot now, and ends the ears
// that have nothing to hear any more.
func (l *listener) reroute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for name, c := range l.channels {
		l.place(name, c)
	}
	for n, e := range l.ears {
		if len(e.subscriptions) == 0 && (!n.serving.Load() || n.closed()) {
			delete(l.ears, n)
			e.stop()
		}
	}
}

// Done is closed by Close.
func (l *listener) Done() <-chan struct{} { return l.done }

// Close ends the connections and waits for the listener's goroutines. No event is
// delivered after it has returned. It must not be called from within an event.
func (l *listener) Close() {
	l.voice.Lock()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.voice.Unlock()

	l.end()
	l.work.Wait()
	l.finish.Do(func() {
		l.driver.mu.Lock()
		delete(l.driver.listeners, l)
		l.driver.mu.Unlock()
		close(l.done)
	})
}

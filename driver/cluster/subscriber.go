package cluster

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/signal"
)

// searchEvery is how often a subscriber asks its server for migrating slots, up to half
// sooner at random.
const searchEvery = time.Second

// subscriber is a listener's subscription connection to one node, which is made again when it
// breaks. Only its goroutine begins requests to the server.
type subscriber struct {
	listener *listener
	node     *node
	life     context.Context
	stop     context.CancelFunc
	changed  chan struct{} // capacity one: there is something to request

	// Guarded by the listener's mutex.
	subscriptions map[string]*subscription // by channel
	pending       []*subscription          // those to be requested, and some that were
	leaving       map[string]struct{}      // channels to unsubscribe from
	unconfirmed   map[string]int           // acknowledgements to come on the connection
}

// subscription is one channel at one server.
type subscription struct {
	name    string
	channel *channel
	// shard says that it is only for what is published in the server's shard.
	shard bool

	pending   bool // it is to be requested
	requested bool // it was requested
	confirmed bool // all requests for it are acknowledged
	evicted   bool // the server ended it, and the next slot map will tell the next server
}

func newSubscriber(l *listener, n *node) *subscriber {
	s := &subscriber{
		listener: l, node: n, changed: make(chan struct{}, 1), subscriptions: make(map[string]*subscription),
		leaving: make(map[string]struct{}), unconfirmed: make(map[string]int),
	}
	s.life, s.stop = context.WithCancel(l.life)
	return s
}

// add gives the subscriber a channel. The listener's mutex is held.
func (s *subscriber) add(name string, c *channel, shard bool) {
	sub := s.subscriptions[name]
	switch {
	case sub == nil:
		sub = &subscription{name: name, channel: c, shard: shard}
		s.subscriptions[name] = sub
		s.request(sub)
	case sub.shard && !shard:
		sub.shard = false
		s.request(sub)
	case sub.evicted:
		s.retry(sub)
	}
}

// retry has a subscription that was refused or ended requested again, a little later.
// The listener's mutex is held.
func (s *subscriber) retry(sub *subscription) {
	c, now := sub.channel, time.Now()
	if now.Sub(c.retryAt) > call.LastPause {
		c.failures = 0
	}
	c.retryAt = now.Add(call.Backoff().After(c.failures))
	c.failures++
	s.request(sub)
}

// request has a subscription requested. The listener's mutex is held.
func (s *subscriber) request(sub *subscription) {
	sub.requested, sub.confirmed, sub.evicted = false, false, false
	if !sub.pending {
		sub.pending = true
		s.pending = append(s.pending, sub)
	}
	signal.Send(s.changed)
}

// remove takes a channel from the subscriber. The listener's mutex is held.
func (s *subscriber) remove(name string) {
	delete(s.subscriptions, name)
	s.leaving[name] = struct{}{}
	signal.Send(s.changed)
}

// run keeps the connection, with a growing pause after each that broke.
func (s *subscriber) run() {
	backoff := call.Backoff()
	for s.life.Err() == nil {
		began := time.Now()
		s.serve()
		s.disconnected()
		s.listener.driver.refreshSoon("")
		if time.Since(began) > call.LastPause {
			backoff.Reset()
		}
		_ = backoff.Wait(s.life)
	}
}

// disconnected takes note that nothing is subscribed any more.
func (s *subscriber) disconnected() {
	l := s.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(s.unconfirmed)
	clear(s.leaving)
	for _, sub := range s.subscriptions {
		s.request(sub)
	}
}

// serve makes a connection and keeps the subscriptions on it up to date. It
// returns when the connection is gone; no event of it can follow.
func (s *subscriber) serve() {
	server, err := s.node.reach(s.life, nil)
	if err != nil {
		return
	}
	events := driver.Events{Subscribed: s.subscribed, Evicted: s.evicted, Message: s.message}
	conn, err := server.Listen(s.life, events)
	if err != nil {
		return
	}
	defer conn.Close()
	wait := pause.Jittered(searchEvery)
	retry, search, searchAt := time.NewTimer(0), time.NewTimer(wait), time.Now().Add(wait)
	defer retry.Stop()
	defer search.Stop()
	for {
		next, err := s.update(conn)
		if err != nil {
			return
		}
		if retry.Stop(); !next.IsZero() {
			retry.Reset(time.Until(next))
		}
		select {
		case <-s.changed:
		case <-retry.C:
		case <-search.C:
		case <-conn.Done():
			return
		case <-s.life.Done():
			return
		}
		if s.life.Err() != nil {
			return
		}
		if !time.Now().Before(searchAt) { // before whatever else is due
			s.findMigratingSlots()
			wait = pause.Jittered(searchEvery)
			search.Reset(wait)
			searchAt = time.Now().Add(wait)
		}
	}
}

// findMigratingSlots asks the server for its migrating slots. What is published in the shard
// of a target does not arrive here.
func (s *subscriber) findMigratingSlots() {
	ctx, cancel := context.WithTimeout(s.life, searchEvery)
	defer cancel()
	if server := s.node.server.Load(); server != nil && s.listener.driver.shardMessages {
		nodes := (*server).Do(ctx, driver.Command{Words: []string{"CLUSTER", "NODES"}})
		for _, to := range parseMigratingSlots(nodes.Str, s.node.address) {
			s.listener.driver.slotMigrates(to)
		}
	}
}

// subscribed takes an acknowledgement.
func (s *subscriber) subscribed(name string) {
	l := s.listener
	l.delivery.Lock()
	defer l.delivery.Unlock()
	l.mu.Lock()
	if s.unconfirmed[name]--; s.unconfirmed[name] <= 0 {
		delete(s.unconfirmed, name)
	}
	sub := s.subscriptions[name]
	whole := l.life.Err() == nil && sub != nil && sub.requested && !sub.confirmed && s.unconfirmed[name] == 0
	if whole {
		sub.confirmed = true
	}
	l.mu.Unlock()
	if whole && l.events.Subscribed != nil {
		l.events.Subscribed(name)
	}
}

// evicted takes note that the server ended a subscription: the slot has moved to another
// server, and this one knows which. The channel is not requested here again before the next
// slot map: a server that has become a replica would agree, and not receive everything yet.
func (s *subscriber) evicted(name string) {
	l := s.listener
	l.mu.Lock()
	if sub := s.subscriptions[name]; sub != nil {
		sub.requested, sub.confirmed, sub.evicted = false, false, true
	}
	l.mu.Unlock()
	l.driver.refreshSoon(s.node.address)
}

// message passes a message on, if the subscription of its channel is complete.
func (s *subscriber) message(name, payload string) {
	l := s.listener
	l.delivery.Lock()
	defer l.delivery.Unlock()
	l.mu.Lock()
	sub := s.subscriptions[name]
	wanted := l.life.Err() == nil && sub != nil && sub.confirmed
	l.mu.Unlock()
	if wanted && l.events.Message != nil {
		l.events.Message(name, payload)
	}
}

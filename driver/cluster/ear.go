package cluster

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// searchEvery is how often a server that is listened to is asked for open slots, up to
// half sooner at random.
const searchEvery = time.Second

// ear is a listener's subscription connection to one server, which is made anew when it
// breaks. Its goroutine is the only one that begins requests to the server.
type ear struct {
	listener *listener
	node     *node
	life     context.Context
	stop     context.CancelFunc
	news     chan struct{} // capacity one: there is something to do

	// Guarded by the listener's mutex.
	subscriptions map[string]*subscription // by channel
	wishes        []*subscription          // those that are to be asked for, and some that were
	drops         map[string]struct{}      // channels to end the subscription to
	owed          map[string]int           // acknowledgements to come on the connection
}

// subscription is what is to be heard of a channel at one server.
type subscription struct {
	name    string
	channel *channel
	// shard says that only what is published in the server's shard is.
	shard bool
	// wished says that it is to be asked for, asked that it was, heard that everything
	// about it is acknowledged, and adrift that the server ended that, and the next map
	// will tell who comes after it.
	wished, asked, heard, adrift bool
}

func newEar(l *listener, n *node) *ear {
	e := &ear{
		listener: l, node: n, news: make(chan struct{}, 1), subscriptions: make(map[string]*subscription),
		drops: make(map[string]struct{}), owed: make(map[string]int),
	}
	e.life, e.stop = context.WithCancel(l.life)
	return e
}

// take makes a channel the ear's business. The listener's mutex is held.
func (e *ear) take(name string, c *channel, shard bool) {
	s := e.subscriptions[name]
	switch {
	case s == nil:
		s = &subscription{name: name, channel: c, shard: shard}
		e.subscriptions[name] = s
		e.wish(s)
	case s.shard && !shard:
		s.shard = false
		e.wish(s)
	case s.adrift:
		e.setback(s)
	}
}

// wish makes a subscription a wish. The listener's mutex is held.
func (e *ear) wish(s *subscription) {
	s.asked, s.heard, s.adrift = false, false, false
	if !s.wished {
		s.wished = true
		e.wishes = append(e.wishes, s)
	}
	e.rouse()
}

// leave takes a channel from the ear. The listener's mutex is held.
func (e *ear) leave(name string) {
	delete(e.subscriptions, name)
	e.drops[name] = struct{}{}
	e.rouse()
}

// setback makes a subscription that was refused or ended a wish again, for a little later.
// The listener's mutex is held.
func (e *ear) setback(s *subscription) {
	c, now := s.channel, time.Now()
	if now.Sub(c.backAt) > lastPause {
		c.setbacks = 0
	}
	c.backAt = now.Add(jittered(min(firstPause<<min(c.setbacks, 10), lastPause)))
	c.setbacks++
	e.wish(s)
}

func (e *ear) rouse() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// run keeps the connection, with a growing pause after each that broke.
func (e *ear) run() {
	pause := firstPause
	for e.life.Err() == nil {
		began := time.Now()
		e.serve()
		e.deafened()
		e.listener.driver.refreshSoon("")
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		rest(e.life, jittered(pause))
		pause = min(2*pause, lastPause)
	}
}

// deafened takes note that nothing is subscribed any more.
func (e *ear) deafened() {
	l := e.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(e.owed)
	clear(e.drops)
	for _, s := range e.subscriptions {
		e.wish(s)
	}
}

// serve makes a connection and keeps the subscriptions on it as they are wished for. It
// returns when the connection is gone; no event of it can follow.
func (e *ear) serve() {
	server, err := e.node.reach(e.life, nil)
	if err != nil {
		return
	}
	events := driver.Events{Subscribed: e.subscribed, Evicted: e.evicted, Message: e.message}
	conn, err := server.Listen(e.life, events)
	if err != nil {
		return
	}
	defer conn.Close()
	retry, search := time.NewTimer(0), time.NewTimer(jittered(searchEvery))
	defer retry.Stop()
	defer search.Stop()
	for {
		next, err := e.update(conn)
		if err != nil {
			return
		}
		if retry.Stop(); !next.IsZero() {
			retry.Reset(time.Until(next))
		}
		select {
		case <-e.news:
		case <-retry.C:
		case <-search.C:
			e.findOpenSlots()
			search.Reset(jittered(searchEvery))
		case <-conn.Done():
			return
		case <-e.life.Done():
			return
		}
	}
}

// findOpenSlots asks the server for its open slots. What is published in the shard of a
// target does not arrive here.
func (e *ear) findOpenSlots() {
	ctx, cancel := context.WithTimeout(e.life, searchEvery)
	defer cancel()
	if s := e.node.server.Load(); s != nil && e.listener.driver.shardMessages {
		nodes := s.Do(ctx, driver.Command{Words: []string{"CLUSTER", "NODES"}})
		for _, to := range parseOpenSlots(nodes.Str, e.node.address) {
			e.listener.driver.opened(to)
		}
	}
}

// subscribed takes an acknowledgement.
func (e *ear) subscribed(name string) {
	l := e.listener
	l.voice.Lock()
	defer l.voice.Unlock()
	l.mu.Lock()
	if e.owed[name]--; e.owed[name] <= 0 {
		delete(e.owed, name)
	}
	s := e.subscriptions[name]
	whole := !l.closed && s != nil && s.asked && !s.heard && e.owed[name] == 0
	if whole {
		s.heard = true
	}
	l.mu.Unlock()
	if whole && l.events.Subscribed != nil {
		l.events.Subscribed(name)
	}
}

// evicted takes note that the server ended a subscription: the slot has gone elsewhere,
// and this server knows where. It is not asked for the channel again before the map has
// been: one that has become a replica would agree, and not hear everything yet.
func (e *ear) evicted(name string) {
	l := e.listener
	l.mu.Lock()
	if s := e.subscriptions[name]; s != nil {
		s.asked, s.heard, s.adrift = false, false, true
	}
	l.mu.Unlock()
	l.driver.refreshSoon(e.node.address)
}

// message passes a message on, if its channel is subscribed to as a whole.
func (e *ear) message(name, payload string) {
	l := e.listener
	l.voice.Lock()
	defer l.voice.Unlock()
	l.mu.Lock()
	s := e.subscriptions[name]
	wanted := !l.closed && s != nil && s.heard
	l.mu.Unlock()
	if wanted && l.events.Message != nil {
		l.events.Message(name, payload)
	}
}

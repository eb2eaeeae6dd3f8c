package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var errDeaf = errors.New("subscription connection gone")

// ear is a listener's subscription connection to one server, which is made anew when it
// breaks. Its goroutine is the only one that talks to the server.
type ear struct {
	listener *listener
	node     *node
	life     context.Context
	stop     context.CancelFunc
	news     chan struct{} // capacity one: there is something to do

	// Guarded by the listener's mutex.
	size   int                 // channels that are this ear's business
	wishes []*channel          // those of them that are to be asked for, and some that were
	drops  map[string]struct{} // channels to end the subscription to
	owed   map[string]int      // acknowledgements to come on the connection
}

func newEar(l *listener, n *node) *ear {
	e := &ear{
		listener: l, node: n, news: make(chan struct{}, 1),
		drops: make(map[string]struct{}), owed: make(map[string]int),
	}
	e.life, e.stop = context.WithCancel(l.life)
	return e
}

// wish makes a channel one of the ear's wishes. The listener's mutex is held.
func (e *ear) wish(c *channel) {
	if c.ear == nil {
		c.ear = e
		e.size++
	}
	c.asked, c.heard, c.adrift = false, false, false
	if !c.wished {
		c.wished = true
		e.wishes = append(e.wishes, c)
	}
	e.rouse()
}

// leave takes a channel from the ear. The listener's mutex is held.
func (e *ear) leave(c *channel) {
	c.ear, c.wished, c.asked, c.heard, c.adrift = nil, false, false, false, false
	e.size--
	e.drops[c.name] = struct{}{}
	e.rouse()
}

// setback makes a channel that was refused or ended a wish again, for a little later.
// The listener's mutex is held.
func (e *ear) setback(c *channel) {
	now := time.Now()
	if now.Sub(c.backAt) > lastPause {
		c.setbacks = 0
	}
	c.backAt = now.Add(min(firstPause<<min(c.setbacks, 10), lastPause))
	c.setbacks++
	e.wish(c)
}

func (e *ear) rouse() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// run keeps the connection while there is something to hear, with a growing pause after
// each that broke.
func (e *ear) run() {
	pause := firstPause
	for e.await() {
		began := time.Now()
		e.serve()
		e.deafened()
		if e.life.Err() != nil {
			return
		}
		e.listener.driver.refreshSoon("")
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		rest(e.life, pause)
		pause = min(2*pause, lastPause)
	}
}

// await waits for something to hear. It is false when the ear's time is over.
func (e *ear) await() bool {
	for {
		e.listener.mu.Lock()
		size := e.size
		e.listener.mu.Unlock()
		if size > 0 {
			return e.life.Err() == nil
		}
		select {
		case <-e.news:
		case <-e.life.Done():
			return false
		}
	}
}

// deafened takes note that nothing is subscribed any more.
func (e *ear) deafened() {
	l := e.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(e.owed)
	clear(e.drops)
	for _, c := range l.channels {
		if c.ear == e {
			e.wish(c)
		}
	}
}

// serve makes a connection and keeps the subscriptions on it as they are wished for. It
// returns when the connection is gone; no event of it can follow.
func (e *ear) serve() error {
	conn, err := e.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		next, err := e.update(conn)
		if err != nil {
			return err
		}
		if retry.Stop(); !next.IsZero() {
			retry.Reset(time.Until(next))
		}
		select {
		case <-e.news:
		case <-retry.C:
		case <-conn.Done():
			return errDeaf
		case <-e.life.Done():
			return nil
		}
	}
}

// connect opens a subscription connection to the node.
func (e *ear) connect() (driver.Listener, error) {
	ctx, cancel := e.listener.driver.options.bounded(e.life, time.Now())
	defer cancel()
	if !e.node.enter() {
		return nil, errRetired
	}
	defer e.node.leave()
	server, err := e.node.reach(ctx, nil)
	if err != nil {
		return nil, err
	}
	return server.Listen(ctx, driver.Events{Subscribed: e.subscribed, Evicted: e.evicted, Message: e.message})
}

// subscribed takes an acknowledgement.
func (e *ear) subscribed(name string) {
	l := e.listener
	l.voice.Lock()
	defer l.voice.Unlock()
	l.mu.Lock()
	e.paid(name, 1)
	c := l.channels[name]
	whole := !l.closed && c != nil && c.ear == e && c.asked && !c.heard && e.owed[name] == 0
	if whole {
		c.heard = true
	}
	l.mu.Unlock()
	if whole && l.events.Subscribed != nil {
		l.events.Subscribed(name)
	}
}

// paid takes note that so many acknowledgements have come or will not. The listener's
// mutex is held.
func (e *ear) paid(name string, n int) {
	if e.owed[name] -= n; e.owed[name] <= 0 {
		delete(e.owed, name)
	}
}

// evicted takes note that the server ended a subscription: the slot has gone elsewhere,
// and this server knows where. It is not asked for the channel again before the map has
// been: one that has become a replica would agree, and not hear everything yet.
func (e *ear) evicted(name string) {
	l := e.listener
	l.mu.Lock()
	if c := l.channels[name]; c != nil && c.ear == e {
		c.asked, c.heard, c.adrift = false, false, true
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
	c := l.channels[name]
	wanted := !l.closed && c != nil && c.ear == e && c.heard
	l.mu.Unlock()
	if wanted && l.events.Message != nil {
		l.events.Message(name, payload)
	}
}

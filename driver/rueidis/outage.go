package rueidis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// The pause between two attempts to connect doubles from the first to the last. After a
// connection that broke soon it does so to the middle one: a network that loses now and then
// must not cost a lock its lease.
const (
	firstPause  = 10 * time.Millisecond
	brokenPause = 100 * time.Millisecond
	lastPause   = time.Second
)

// jittered is a pause that is up to half shorter, at random, so that the clients of a
// server that comes back do not all return at the same moment.
func jittered(pause time.Duration) time.Duration { return pause - rand.N(pause/2+1) }

// outage is a time without a link.
type outage struct {
	// over is closed when there is a link again, or never will be.
	over chan struct{}
	// reason is why the latest attempt to connect failed, or, before that,
	// why the link was lost. Guarded by Driver.mu.
	reason error
}

// lose puts a link away for good and has another one made, unless that has
// been done already.
func (d *Driver) lose(old *link, reason error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old.reason == nil {
		old.reason = reason
	}
	if d.closed || !d.link.CompareAndSwap(old, nil) {
		return
	}
	outage := &outage{over: make(chan struct{}), reason: foreign(reason)}
	d.outage = outage
	d.work.Go(func() { d.mend(old, outage) })
}

// mend connects, trying until it succeeds or the driver is closed.
func (d *Driver) mend(old *link, outage *outage) {
	defer close(outage.over)
	if _, gentle := old.reason.(readOnly); gentle {
		d.work.Go(func() { d.drain(old) })
	} else {
		old.close()
	}
	if time.Since(old.born) >= lastPause {
		d.pause = firstPause
	} else { // a server that accepts and hangs up must not be stormed
		d.pause = min(2*d.pause, brokenPause)
		rest(d.life, jittered(d.pause))
	}
	for d.life.Err() == nil {
		era, err := d.reconnect()
		if err == nil {
			return
		}
		d.mu.Lock()
		outage.reason = foreign(refusal(err))
		d.mu.Unlock()
		d.backOff(era)
	}
}

// backOff rests before the next attempt, for longer each time. Only mend calls it.
func (d *Driver) backOff(ctx context.Context) {
	rest(ctx, jittered(d.pause))
	d.pause = min(2*d.pause, lastPause)
}

// reconnect makes one attempt to connect, in the era that it returns.
func (d *Driver) reconnect() (era context.Context, err error) {
	era, attempt, cancel := d.attempt(d.life)
	defer cancel()
	link, err := newLink(attempt, d.options)
	if err == nil && !d.install(link, era) {
		link.close()
		err = ended(era)
	}
	return era, err
}

// install makes link the one that callers use, unless its era is over. Where the address
// leads to another server by now, it ends the listeners at the former one, which may live
// on in silence.
func (d *Driver) install(link *link, era context.Context) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || era.Err() != nil {
		return false
	}
	d.outage = nil
	link.era = era
	d.link.Store(link)
	d.work.Go(func() { d.watch(link) })
	for l := range d.listeners {
		if fmt.Sprint(l.conn.RemoteAddr()) != fmt.Sprint(link.conn.RemoteAddr()) { // they may be nil
			l.conn.Close()
		}
	}
	return true
}

// rest waits for a pause, or the end of ctx.
func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// enterLink waits for a link and a place in its queue. The error matches
// driver.ErrNotSent.
func (d *Driver) enterLink(ctx context.Context) (*link, error) {
	for {
		link, err := d.awaitLink(ctx)
		if err != nil {
			return nil, err
		}
		switch err := link.queue.enter(ctx); err {
		case nil:
			return link, nil
		case errGone:
			d.lose(link, err)
		default:
			return nil, d.options.notSent(fmt.Errorf("%w, behind %d other calls", err, places))
		}
	}
}

// awaitLink waits until there is a link, or ctx ends. The error matches
// driver.ErrNotSent and tells what is wrong with the connection.
func (d *Driver) awaitLink(ctx context.Context) (*link, error) {
	for {
		d.mu.Lock()
		link, outage, closed := d.link.Load(), d.outage, d.closed
		d.mu.Unlock()
		if closed {
			return nil, d.options.notSent(errClosed)
		}
		if link != nil {
			return link, nil
		}
		select {
		case <-outage.over:
		case <-ctx.Done():
			return nil, d.options.notSent(fmt.Errorf("%w, %w: %w", ended(ctx), driver.ErrNoConnection, d.reason(outage)))
		}
	}
}

func (d *Driver) reason(outage *outage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return outage.reason
}

package single

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// brokenPause is the longest pause after a connection that broke soon: a network that loses
// connections now and then must not cost a lock its lease.
const brokenPause = 100 * time.Millisecond

// outage is a time without a link.
type outage struct {
	// over is closed when there is a link again, or never will be.
	over chan struct{}
	// reason is why the latest attempt to connect failed, or, before that,
	// why the link was lost. Guarded by Driver.mu.
	reason error
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
			return nil, d.settings.notSent(fmt.Errorf("%w, behind %d other calls", err, places))
		}
	}
}

// awaitLink waits until there is a link, or ctx ends. The error matches
// driver.ErrNotSent and says what is wrong with the connection.
func (d *Driver) awaitLink(ctx context.Context) (*link, error) {
	for {
		d.mu.Lock()
		link, outage, closed := d.link.Load(), d.outage, d.closed
		d.mu.Unlock()
		if closed {
			return nil, d.settings.notSent(call.ErrClosed)
		}
		if link != nil {
			return link, nil
		}
		select {
		case <-outage.over:
		case <-ctx.Done():
			d.mu.Lock()
			defer d.mu.Unlock()
			return nil, d.settings.notSent(fmt.Errorf("%w, %w: %w", call.Ended(ctx), driver.ErrNoConnection, outage.reason))
		}
	}
}

// unreachable reports commands that were not sent because no connection could be made,
// unless ctx ended the attempt.
func (d *Driver) unreachable(ctx context.Context, reason error) error {
	if ctx.Err() != nil {
		return d.settings.notSent(reason)
	}
	return d.settings.notSent(fmt.Errorf("%w: %w", driver.ErrNoConnection, call.NotOfCaller(reason)))
}

// lose gives up a link for good and has another one made, unless that has
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
	outage := &outage{over: make(chan struct{}), reason: call.NotOfCaller(reason)}
	d.outage = outage
	d.work.Go(func() { d.reconnect(old, outage) })
}

// reconnect tries until it succeeds or the driver is closed.
func (d *Driver) reconnect(old *link, outage *outage) {
	defer close(outage.over)
	if _, answers := old.reason.(readOnly); answers {
		d.work.Go(func() { d.drain(old) })
	} else {
		old.close()
	}
	if time.Since(old.began) >= call.LastPause {
		d.pause = call.FirstPause
	} else { // a server that accepts and hangs up must not be stormed
		d.pause = min(2*d.pause, brokenPause)
		call.Rest(d.life, call.Jittered(d.pause))
	}
	for d.life.Err() == nil {
		generation, err := d.reconnectOnce()
		if err == nil {
			return
		}
		d.mu.Lock()
		outage.reason = call.NotOfCaller(refusal(err))
		d.mu.Unlock()
		call.Rest(generation, call.Jittered(d.pause))
		d.pause = min(2*d.pause, call.LastPause)
	}
}

// reconnectOnce makes one attempt to connect, in the generation that it returns.
func (d *Driver) reconnectOnce() (generation context.Context, err error) {
	generation, attempt, cancel := d.attempt(d.life)
	defer cancel()
	link, err := newLink(attempt, d.settings)
	if err == nil && !d.install(link, generation) {
		link.close()
		err = call.Ended(generation)
	}
	return generation, err
}

// install makes link the one that callers use, unless its generation is over. If the
// address leads to another server by now, it ends the listeners at the former one, which
// may live on in silence.
func (d *Driver) install(link *link, generation context.Context) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || generation.Err() != nil {
		return false
	}
	d.outage = nil
	link.generation = generation
	d.link.Store(link)
	d.work.Go(func() { d.watch(link) })
	for l := range d.listeners {
		if fmt.Sprint(l.conn.RemoteAddr()) != fmt.Sprint(link.conn.RemoteAddr()) { // they may be nil
			l.conn.Close()
		}
	}
	return true
}

// drain closes a link when its calls have ended, or the command timeout has passed.
func (d *Driver) drain(link *link) {
	ctx, cancel := d.settings.bounded(d.life)
	defer cancel()
	defer link.close()
	for range places {
		if link.queue.enter(ctx) != nil {
			return
		}
	}
}

package single

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

// brokenPause is the longest pause after a connection that broke soon: a network that loses
// connections now and then must not cost a lock its lease. A server that accepts and hangs up must
// not be stormed.
const brokenPause = 100 * time.Millisecond

// outage is a time without a link.
type outage struct {
	began time.Time
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
			return nil, d.options.notSent(fmt.Errorf("%w, behind %d other calls", err, places))
		}
	}
}

// awaitLink waits until there is a link, or ctx ends. The error matches
// driver.ErrNotSent and says what is wrong with the connection.
func (d *Driver) awaitLink(ctx context.Context) (*link, error) {
	for {
		d.mu.Lock()
		link, outage, over := d.link.Load(), d.outage, d.life.Err()
		d.mu.Unlock()
		if over != nil {
			return nil, d.options.notSent(call.ErrClosed)
		}
		if link != nil {
			return link, nil
		}
		select {
		case <-outage.over:
		case <-ctx.Done():
			d.mu.Lock()
			defer d.mu.Unlock()
			return nil, d.options.notSent(fmt.Errorf("%w, %w: %w", call.Ended(ctx), driver.ErrNoConnection, outage.reason))
		}
	}
}

// unreachable reports commands that were not sent because no connection could be made,
// unless ctx ended the attempt.
func (d *Driver) unreachable(ctx context.Context, reason error) error {
	if errors.Is(reason, driver.ErrNotSent) {
		return reason
	}
	if ctx.Err() != nil {
		return d.options.notSent(reason)
	}
	return d.options.notSent(fmt.Errorf("%w: %w", driver.ErrNoConnection, pause.NotOfCaller(reason)))
}

// lose gives up a link for good and has another one made, unless that has
// been done already.
func (d *Driver) lose(old *link, reason error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveUp(old, reason)
}

// giveUp is lose under d.mu.
func (d *Driver) giveUp(old *link, reason error) {
	if old.reason == nil {
		old.reason = reason
	}
	if !d.link.CompareAndSwap(old, nil) {
		return
	}
	d.interrupt(old, reason)
}

// interrupt begins an outage. old is the link before it, or nil if there was none yet. It needs d.mu.
func (d *Driver) interrupt(old *link, reason error) {
	outage := &outage{began: time.Now(), over: make(chan struct{}), reason: pause.NotOfCaller(reason)}
	d.outage = outage
	d.work.Go(func() {
		defer close(outage.over)
		if old != nil {
			d.part(old)
		}
		d.reconnect(outage)
	})
}

// part ends a link. It pauses afterwards if the link lasted only a short time.
func (d *Driver) part(old *link) {
	if _, answers := old.reason.(readOnly); answers {
		d.work.Go(func() { d.drain(old) })
	} else {
		old.close()
	}
	if time.Since(old.began) >= call.LastPause {
		d.broken.Reset()
	} else {
		_ = d.broken.Wait(d.life)
	}
}

// reconnect tries until it succeeds or the driver is closed.
func (d *Driver) reconnect(outage *outage) {
	for backoff := call.Backoff(); d.life.Err() == nil; {
		generation := d.present()
		err := d.connect(d.life, generation)
		if err == nil {
			return
		}
		d.mu.Lock()
		outage.reason = pause.NotOfCaller(err)
		d.mu.Unlock()
		_ = backoff.Wait(generation)
	}
}

// connect makes one attempt to make the link that callers use. If it leads to another server than the
// link before, the other connections end: a former server may live on in silence.
func (d *Driver) connect(ctx, generation context.Context) error {
	dial := func(ctx context.Context) (*link, error) { return newLink(ctx, d.options) }
	_, err := attempt(ctx, d, generation, dial, func(link *link) error {
		if link.server.Replica && d.server.Known() && !d.server.Replica {
			return call.ErrReplica
		}
		if d.server.Known() && !link.server.Same(d.server) {
			d.endGeneration(dropped(call.ErrOther))
		}
		if d.outage != nil {
			link.returning = time.Now().Add(min(time.Since(d.outage.began), call.LastPause))
		}
		d.server, d.outage, link.generation = d.server.Then(link.server), nil, d.generation // before a command can go there
		d.link.Store(link)
		d.work.Go(func() { d.watch(link) })
		return nil
	})
	return err
}

// drain closes a link when its calls have ended, or the command timeout has passed.
func (d *Driver) drain(link *link) {
	ctx, cancel := call.Bound(d.life, time.Now(), d.options.CommandTimeout)
	defer cancel()
	defer link.close()
	for range places {
		if link.queue.enter(ctx) != nil {
			return
		}
	}
}

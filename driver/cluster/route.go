package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// maxHops bounds how often a command is sent on. One is the rule; more is a cluster that
// has not agreed with itself yet, and sending faster does not help it.
const maxHops = 5

// divide puts the commands at some places into parts, by the map.
func (d *Driver) divide(b *batch, places []int) (parts []part) {
	common := d.home(b.firstKey())
	for _, place := range places {
		to := part{node: common, file: -1}
		if key := b.commands[place].Key; key != "" {
			to.node = d.home(key)
			if d.transit.some.Load() && d.transit.has(driver.Slot(key)) {
				to.file = driver.Slot(key)
			}
		}
		parts = to.join(parts, place)
	}
	return parts
}

// carry carries the parts out side by side.
func (d *Driver) carry(ctx context.Context, b *batch, parts []part, hops int) {
	var others sync.WaitGroup
	for _, p := range parts[1:] {
		others.Go(func() { d.carryPart(ctx, b, p, hops) })
	}
	d.carryPart(ctx, b, parts[0], hops)
	others.Wait()
}

// carryPart carries one part out, wherever it has to go.
func (d *Driver) carryPart(ctx context.Context, b *batch, p part, hops int) {
	if p.file >= 0 && len(p.places) > 1 {
		d.carryFile(ctx, b, p)
		return
	}
	d.send(ctx, b, p)
	switch again := d.astray(ctx, b, p); {
	case len(again) == 0:
	case hops == maxHops:
		for _, p := range again {
			b.giveUp(p.places)
		}
	default:
		d.carry(ctx, b, again, hops+1)
	}
}

// carryFile carries out the commands of a part one after another. When the outcome of one
// is not known, those behind it must not be sent: as on one connection.
func (d *Driver) carryFile(ctx context.Context, b *batch, p part) {
	for i, place := range p.places {
		home := d.home(b.commands[place].Key) // it may have changed since the one before
		d.carryPart(ctx, b, part{node: home, places: p.places[i : i+1], file: -1}, 0)
		if reply := b.replies[place]; !answered(reply) {
			b.fail(p.places[i+1:], notSent(fmt.Errorf("behind a command without an answer: %w", reply.Err)))
			return
		}
	}
}

// send has a node carry out a part.
func (d *Driver) send(ctx context.Context, b *batch, p part) {
	n := p.node
	if !n.enter() {
		b.fail(p.places, notSent(d.gone()))
		return
	}
	defer n.leave()
	server, err := d.reach(ctx, b, n)
	if err == errRetired {
		err = notSent(d.gone())
	}
	if err != nil {
		d.note(ctx, n, err)
		b.fail(p.places, err)
		return
	}
	send := server.Pipeline
	if b.apart {
		n.apart.Add(1)
		defer n.apart.Add(-1)
		send = server.Apart
	}
	if !p.asking {
		b.take(p, send(ctx, b.pick(p)...))
	} else {
		b.takeAsked(p, send(ctx, b.pickAsking(p)...))
	}
	d.note(ctx, n, b.replies[p.places[0]].Err)
}

// reach waits for a node's connection: also for commands apart, no longer than the
// command timeout.
func (d *Driver) reach(ctx context.Context, b *batch, n *node) (driver.Driver, error) {
	if b.apart {
		var cancel context.CancelFunc
		ctx, cancel = d.options.bounded(ctx, time.Now())
		defer cancel()
	}
	return n.reach(ctx, nil)
}

// gone is why a node takes no more calls.
func (d *Driver) gone() error {
	if d.life.Err() != nil {
		return errClosed
	}
	return errRetired
}

package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Do sends one command to the server of its key. See driver.Driver.
func (d *Driver) Do(ctx context.Context, command driver.Command) driver.Reply {
	began := time.Now()
	n := d.home(command.Key)
	if s := n.server.Load(); s != nil && n.enter() {
		reply := s.Do(ctx, command)
		n.leave()
		d.note(ctx, n, reply.Err)
		if reply.Err == nil {
			return reply
		}
		b := batch{commands: []driver.Command{command}, replies: []driver.Reply{reply}}
		d.carryOn(ctx, &b, d.astray(ctx, &b, part{node: n, places: b.all(), file: -1}), began)
		return b.replies[0]
	}
	b := batch{commands: []driver.Command{command}, replies: make([]driver.Reply, 1)}
	if err := b.unsendable(ctx); err != nil {
		return driver.Reply{Err: err}
	}
	d.carryOn(ctx, &b, []part{{node: n, places: b.all(), file: -1}}, began)
	return b.replies[0]
}

// Pipeline sends the commands to the servers of their keys. See driver.Driver and
// driver.Sharded. Commands without a key go with the first that has one. A command that
// is refused because its slot is on its way, while one behind it was carried out, gets
// the code TRYAGAIN.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	began := time.Now()
	b := batch{commands: commands, replies: make([]driver.Reply, len(commands))}
	if err := b.unsendable(ctx); err != nil {
		return failAll(len(commands), err)
	}
	parts := d.divide(&b, b.all())
	if len(parts) == 1 && parts[0].file < 0 && parts[0].node.server.Load() != nil {
		d.send(ctx, &b, parts[0])
		parts = d.astray(ctx, &b, parts[0])
	}
	d.carryOn(ctx, &b, parts, began)
	return b.replies
}

// Apart sends commands of one slot on a connection of their own. See driver.Driver and
// driver.Sharded. WAIT goes wherever the command before it has to go.
func (d *Driver) Apart(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	b := batch{commands: commands, replies: make([]driver.Reply, len(commands)), apart: true}
	if err := b.unsendable(ctx); err != nil {
		return failAll(len(commands), err)
	}
	d.carry(ctx, &b, []part{{node: d.home(b.firstKey()), places: b.all(), file: -1}}, 0)
	return b.replies
}

// carryOn carries out what is left of a batch, within the time of a call that began then.
func (d *Driver) carryOn(ctx context.Context, b *batch, parts []part, began time.Time) {
	if len(parts) == 0 {
		return
	}
	bounded, cancel := d.options.bounded(ctx, began)
	defer cancel()
	d.carry(bounded, b, parts, 0)
	if ctx.Err() != nil || bounded.Err() == nil {
		return
	}
	for i := range b.replies { // the caller must not think that his own context is over
		if err := b.replies[i].Err; errors.Is(err, context.DeadlineExceeded) {
			b.replies[i].Err = foreign{err}
		}
	}
}

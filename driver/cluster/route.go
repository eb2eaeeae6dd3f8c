package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

// Do sends one command to the server of its key. See driver.Driver.
func (d *Driver) Do(ctx context.Context, command driver.Command) driver.Reply {
	began := time.Now()
	n := d.nodeOf(command.Key)
	if s := n.server.Load(); s != nil && n.enter() {
		reply := (*s).Do(ctx, command)
		n.leave()
		d.noteReply(ctx, n, reply.Err)
		if _, elsewhere := d.redirected(n, reply.Err); !elsewhere {
			return reply
		}
	}
	return d.pipeline(ctx, began, []driver.Command{command})[0]
}

// Pipeline sends the commands to the servers of their keys. See driver.Driver and
// driver.Sharded. Commands without a key go with the first that has one. A command that
// is redirected fails with the code TRYAGAIN, and goes to the right server when it is sent
// again.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	return d.pipeline(ctx, time.Now(), commands)
}

// DedicatedPipeline sends commands of one slot on a dedicated connection. See driver.Driver
// and driver.Sharded. A single command, also with WAIT behind it, follows a migrating slot.
// Anything else that is redirected fails with the code TRYAGAIN.
func (d *Driver) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), notSent(err))
	}
	return d.send(ctx, d.nodeOf(firstKey(commands)), true, commands)
}

// pipeline carries commands out within the time of a call that began then. Its parts run
// side by side.
func (d *Driver) pipeline(ctx context.Context, began time.Time, commands []driver.Command) []driver.Reply {
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), notSent(err))
	}
	parts := d.divide(commands)
	if first := parts[0]; len(parts) == 1 && first.key == "" && len(commands) > 1 && first.node.server.Load() != nil {
		return d.send(ctx, first.node, false, commands) // it bounds itself
	}
	bounded, cancel := call.Bound(ctx, began, d.options.CommandTimeout)
	defer cancel()
	replies := make([]driver.Reply, len(commands))
	var others sync.WaitGroup
	for _, p := range parts[1:] {
		others.Go(func() { d.sendPart(bounded, p, commands, replies) })
	}
	d.sendPart(bounded, parts[0], commands, replies)
	others.Wait()
	for i := range replies { // the deadline is not that of the caller's context
		if ctx.Err() == nil {
			replies[i].Err = pause.NotOfCaller(replies[i].Err)
		}
	}
	return replies
}

// place is where commands of a pipeline go together.
type place struct {
	node *node
	key  string // whose slot is migrating; empty for those of all other slots
}

// part is some commands of a pipeline that go to one place, by their numbers.
type part struct {
	place
	numbers []int
}

// divide puts commands into parts, by the slot map.
func (d *Driver) divide(commands []driver.Command) (parts []part) {
	common := d.nodeOf(firstKey(commands))
	known := make(map[place]int) // the parts; there may be thousands while a slot is migrating
	for number, command := range commands {
		to := place{node: common}
		if command.Key != "" {
			to.node = d.nodeOf(command.Key)
			if d.target(driver.Slot(command.Key)) != "" {
				to.key = command.Key
			}
		}
		i, ok := known[to]
		if !ok {
			i = len(parts)
			known[to] = i
			parts = append(parts, part{place: to})
		}
		parts[i].numbers = append(parts[i].numbers, number)
	}
	return parts
}

// firstKey is the first key of some commands, if they have any.
func firstKey(commands []driver.Command) string {
	for _, command := range commands {
		if command.Key != "" {
			return command.Key
		}
	}
	return ""
}

// sendPart carries out one part of a pipeline. The commands for one key of a migrating slot go
// one after another, each to the server that has the key. If the outcome of one is unknown,
// it does not send those behind it: as on one connection.
func (d *Driver) sendPart(ctx context.Context, p part, commands []driver.Command, replies []driver.Reply) {
	if p.key == "" {
		some := make([]driver.Command, len(p.numbers))
		for i, number := range p.numbers {
			some[i] = commands[number]
		}
		for i, reply := range d.send(ctx, p.node, false, some) {
			replies[p.numbers[i]] = reply
		}
		return
	}
	for i, number := range p.numbers {
		replies[number] = d.send(ctx, p.node, false, commands[number:number+1])[0]
		err := replies[number].Err
		if _, refused := errors.AsType[*driver.ServerError](err); err != nil && !refused {
			err = notSent(fmt.Errorf("behind a command without an answer: %w", err))
			for _, behind := range p.numbers[i+1:] {
				replies[behind].Err = err
			}
			return
		}
	}
}

// send has a node carry out commands. A single command whose slot is migrating goes on to the
// target, with the WAIT behind it. The caller repeats whatever else is redirected.
func (d *Driver) send(ctx context.Context, n *node, dedicated bool, commands []driver.Command) []driver.Reply {
	replies := d.exchange(ctx, n, dedicated, commands)
	to, elsewhere := d.redirected(n, replies[0].Err)
	if elsewhere && to.asking && !slices.ContainsFunc(commands[1:], isNotWait) {
		n = d.node(to.address)
		asking := driver.Command{Words: []string{"ASKING"}} // holds for one command
		replies = d.exchange(ctx, n, dedicated, slices.Insert(slices.Clone(commands), 0, asking))[1:]
	}
	for i, reply := range replies {
		if _, elsewhere := d.redirected(n, reply.Err); elsewhere {
			replies[i].Err = &driver.ServerError{Message: "TRYAGAIN redirected: " + reply.Err.Error()}
		}
	}
	return replies
}

func isNotWait(command driver.Command) bool { return command.Words[0] != "WAIT" }

// exchange has a node carry out commands, in order and on one connection.
func (d *Driver) exchange(ctx context.Context, n *node, dedicated bool, commands []driver.Command) []driver.Reply {
	if !n.enter() {
		return call.FailAll(len(commands), notSent(errNodeClosed))
	}
	defer n.leave()
	server, err := n.reach(ctx, nil)
	if err != nil {
		d.noteReply(ctx, n, err)
		return call.FailAll(len(commands), err)
	}
	send := server.Pipeline
	if dedicated {
		n.dedicated.Add(1)
		defer n.dedicated.Add(-1)
		send = server.DedicatedPipeline
	}
	replies := send(ctx, commands...)
	d.noteReply(ctx, n, replies[0].Err)
	return replies
}

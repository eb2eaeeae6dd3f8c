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
		if _, elsewhere := d.redirected(n, reply.Err); !elsewhere {
			return reply
		}
	}
	return d.pipeline(ctx, began, []driver.Command{command})[0]
}

// Pipeline sends the commands to the servers of their keys. See driver.Driver and
// driver.Sharded. Commands without a key go with the first that has one. A command that
// is redirected gets the code TRYAGAIN, and goes the right way when it is sent again.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	return d.pipeline(ctx, time.Now(), commands)
}

// Apart sends commands of one slot on a connection of their own. See driver.Driver and
// driver.Sharded. One command, and WAIT behind it, follow a slot that is on its way;
// anything else that is redirected gets the code TRYAGAIN.
func (d *Driver) Apart(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := unsendable(ctx, commands); err != nil {
		return failAll(len(commands), err)
	}
	return d.send(ctx, d.home(firstKey(commands)), true, commands)
}

// unsendable says why nothing of a call may be sent.
func unsendable(ctx context.Context, commands []driver.Command) error {
	for _, command := range commands {
		if len(command.Words) == 0 || command.Words[0] == "" {
			return notSent(errors.New("command without a name"))
		}
	}
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	return nil
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

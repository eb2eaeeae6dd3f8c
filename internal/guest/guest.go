// Package guest is between the library and the drivers of its users. A driver that breaks its contract makes a call
// fail, and does not end the process.
package guest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Driver is a driver whose replies are counted, and whose listeners exist. It has the methods of driver.Driver alone.
func Driver(d driver.Driver) driver.Driver { return checked{d} }

type checked struct{ driver.Driver }

func (c checked) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return Counted(ctx, c.Driver.Pipeline, commands)
}

func (c checked) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return Counted(ctx, c.Driver.DedicatedPipeline, commands)
}

func (c checked) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	l, err := c.Driver.Listen(ctx, events)
	if err == nil {
		err = lockerr.Missing("listener of the driver", l)
	}
	return l, err
}

// Counted sends commands by a pipeline, and returns one reply to each. If there are more or fewer, nobody knows which
// command a reply is to. Each reply is an error then, and says nothing of what the server has done.
func Counted(ctx context.Context, pipeline func(context.Context, ...driver.Command) []driver.Reply, commands []driver.Command) []driver.Reply {
	replies := pipeline(ctx, commands...)
	if len(replies) == len(commands) {
		return replies
	}
	err := fmt.Errorf("the driver returned %d replies to %d commands", len(replies), len(commands))
	return slices.Repeat([]driver.Reply{{Err: err}}, len(commands))
}

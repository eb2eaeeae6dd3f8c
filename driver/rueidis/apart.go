package rueidis

import (
	"context"

	"github.com/redlatch/redlatch/driver"
)

// Apart sends the commands on a connection of their own. See driver.Driver.
func (d *Driver) Apart(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	for _, command := range commands {
		if err := sendable(command); err != nil {
			return failAll(len(commands), d.options.notSent(err))
		}
	}
	attempt, cancel := d.options.bounded(ctx)
	defer cancel()
	apart, err := newLink(attempt, d.options)
	if err != nil {
		return failAll(len(commands), d.options.notSent(refusal(err)))
	}
	defer apart.close()
	apart.queue.tryEnter()
	return d.pipeline(ctx, apart, commands)
}

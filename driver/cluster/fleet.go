package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

var _ driver.Fleet = (*Driver)(nil)

// Servers are the masters that have slots now, sorted by address. See driver.Fleet.
func (d *Driver) Servers(ctx context.Context) ([]driver.Server, error) {
	if err := call.Check(ctx); err != nil {
		return nil, notSent(err)
	}
	if d.life.Err() != nil {
		return nil, notSent(call.ErrClosed)
	}
	bounded, cancel := call.Bound(ctx, time.Now(), d.options.CommandTimeout)
	defer cancel()
	if err := d.refresh(bounded); err != nil {
		if ctx.Err() == nil {
			err = pause.NotOfCaller(err)
		}
		return nil, fmt.Errorf("ask the redis cluster for its servers: %w", err)
	}
	var servers []driver.Server
	for _, n := range *d.masters.Load() {
		servers = append(servers, driver.Server{
			Address: n.address,
			Pipeline: func(ctx context.Context, commands ...driver.Command) []driver.Reply {
				return d.sendTo(ctx, n.address, commands)
			},
		})
	}
	slices.SortFunc(servers, func(a, b driver.Server) int { return cmp.Compare(a.Address, b.Address) })
	return servers, nil
}

// sendTo sends commands to the server at an address, whatever the slot map says.
func (d *Driver) sendTo(ctx context.Context, address string, commands []driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), notSent(err))
	}
	bounded, cancel := call.Bound(ctx, time.Now(), d.options.CommandTimeout)
	defer cancel()
	replies := d.exchange(bounded, d.node(address), false, commands)
	for i := range replies { // the deadline is not that of the caller's context
		if ctx.Err() == nil {
			replies[i].Err = pause.NotOfCaller(replies[i].Err)
		}
	}
	return replies
}

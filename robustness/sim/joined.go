package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
)

// routed is the real driver of a Cluster, over simulated connections. Its calls end one at a time, and
// in a paused process only when that goes on.
type routed struct {
	*cluster.Driver
	process *process
}

// Do is Pipeline with one command.
func (r routed) Do(ctx context.Context, command driver.Command) driver.Reply {
	reply := r.Driver.Do(ctx, command)
	r.end([]driver.Command{command}, []driver.Reply{reply})
	return reply
}

// Pipeline lets the real driver send commands.
func (r routed) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := r.Driver.Pipeline(ctx, commands...)
	r.end(commands, replies)
	return replies
}

// end waits until a call may end.
func (r routed) end(commands []driver.Command, replies []driver.Reply) {
	p, ended := r.process, make(chan struct{})
	p.say(p.name+" is told of "+describe(commands)+": "+describeReplies(replies), func() {
		p.when(func() { close(ended) })
	})
	select {
	case <-ended:
	case <-p.died:
	}
}

// shard is a link as the driver of a Cluster has it: it bounds its calls, and closing it ends its
// connections.
type shard struct{ *link }

// Do is Pipeline with one command.
func (s shard) Do(ctx context.Context, command driver.Command) driver.Reply {
	return s.Pipeline(ctx, command)[0]
}

// Pipeline sends commands, and waits for the command timeout at most.
func (s shard) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	limited, cancel := context.WithTimeout(ctx, s.process.config.CommandTimeout)
	defer cancel()
	replies := s.link.Pipeline(limited, commands...)
	for i, r := range replies {
		if late := ctx.Err() == nil && errors.Is(r.Err, context.DeadlineExceeded); late && errors.Is(r.Err, driver.ErrNotSent) {
			replies[i].Err = fmt.Errorf("%w: %w", driver.ErrNotSent, errLate)
		} else if late {
			replies[i].Err = errLate
		}
	}
	return replies
}

var errLate = errors.New("no answer within the command timeout")

// Close ends the connections for both sides.
func (s shard) Close() {
	if s.process.dead.Load() {
		return
	}
	s.post(s.name+" closes", func() {
		for _, c := range slices.Clone(s.conns) {
			c.cut(s.latency(), s.latency())
		}
	})
}

// join makes the process's driver, and then what is on it.
func (p *process) join(watchdog bool) {
	p.watching.Go(func() {
		for p.ctx.Err() == nil {
			d, err := cluster.Open(p.ctx, cluster.Options{
				Addresses: p.addresses(), Connect: p.connect, CommandTimeout: p.config.CommandTimeout,
			})
			if err != nil {
				p.rest(p.name, p.config.CommandTimeout)
				continue
			}
			p.cluster = d
			p.say(p.name+" has joined", func() {
				switch {
				case p.dead.Load():
					return
				case watchdog:
					p.watch(routed{d, p})
				default:
					p.begin(routed{d, p}, p.name)
				}
				close(p.joined)
			})
			p.hasJoined()
			return
		}
	})
}

func (p *process) addresses() (all []string) {
	for _, l := range p.links {
		all = append(all, l.server.address())
	}
	return all
}

// connect makes a connection to one server.
func (p *process) connect(ctx context.Context, address string) (driver.Driver, error) {
	at := slices.Index(p.addresses(), address)
	l, c := p.links[at], newCall(ctx, make([]driver.Command, 1))
	r := l.do(c, "connects", func() {
		l.with(c, &l.commands, func() { l.commands.establish(c, "connects", "connected") })
	})[0]
	return shard{l}, r.Err
}

// hasJoined waits until the process has its clients, or is dead.
func (p *process) hasJoined() bool {
	select {
	case <-p.joined:
		return true
	case <-p.died:
		return false
	}
}

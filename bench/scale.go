package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// What fair and read-write locks cost the server, by how many take part.

// scalePlan is how far the curves go.
type scalePlan struct {
	waiters, readers []int
	samples          int           // calls of each kind
	fill, slice      time.Duration // for the queue to fill, and then for the grants of the whole library
	behind           int           // how many readers a writer waits for
}

var longScale = scalePlan{
	waiters: []int{10, 100, 1000, 5000, 10_000}, readers: []int{10, 100, 1000, 10_000, 80_000},
	samples: 100, fill: 10 * time.Second, slice: 2 * time.Second, behind: 80_000,
}

const (
	// scaleLease is longer than any part of the measurement.
	scaleLease = 10 * time.Minute
	// scaleTimeout is enough for commands while thousands begin at once.
	scaleTimeout = time.Minute
	// libraryClients share the waiters of the whole library, each in a process of its own.
	libraryClients = 4
	// goalWaiters is the row that has a goal.
	goalWaiters = 5000
)

func (b *bench) scaleContests() []contest {
	p := b.plan.scale
	scripts := func(name, title, first string, counts []int, columns []string, measure func(ctx context.Context, s *scaled, n int) (samples, error)) contest {
		c := contest{name: name, part: "scale", extra: true, title: title, rounds: 1}
		for _, n := range counts {
			c.rows = append(c.rows, b.scaleRow(fmt.Sprintf("%d %s", n, first), func(ctx context.Context, s *scaled) (figures, error) {
				cost, err := measure(ctx, s, n)
				return cost.figures(), err
			}))
		}
		for _, what := range columns {
			c.columns = append(c.columns, column{figure: what, format: "%.0f"})
		}
		return c
	}
	library := contest{
		name: "fair library", part: "scale", extra: true, rounds: 1,
		title: "Fair lock: µs of Redis a grant, all commands of the library",
		columns: []column{
			{figure: figureScriptsEach, format: "%.1f", head: "scripts a grant"},
			{figure: figureScriptTime, format: "%.0f"}, {figure: figureListenTime, format: "%.0f"}, {figure: figureServerTime, format: "%.0f"},
		},
		goals: []goal{atMost(100, fmt.Sprintf("time of Redis for a grant of a fair lock, µs, %d waiters", goalWaiters),
			of("fair library", waitersOf(goalWaiters), figureServerTime))},
	}
	for _, n := range p.waiters {
		who := make([]contestant, libraryClients)
		for i := range who {
			who[i] = fair
		}
		// One more holds the lock.
		library.rows = append(library.rows, b.contentionRow(waitersOf(n), contention{
			who: who, workers: (n + libraryClients) / libraryClients, warmUp: p.fill, length: p.slice,
		}))
	}
	return []contest{
		scripts("fair scripts", "Fair lock: µs of Redis a script, one by one", "waiters", p.waiters, fairColumns, fairCosts(false)),
		scripts("fair scripts with Redisson", "Fair lock: µs of Redis a script, every other waiter of Redisson", "waiters", p.waiters, fairColumns, fairCosts(true)),
		library,
		scripts("read-write scripts", "Read-write lock: µs of Redis a script", "readers", p.readers, rwColumns, rwCosts),
		b.behindReaders(),
	}
}

func waitersOf(n int) string { return fmt.Sprintf("%d waiters", n) }

// scaled is a server with one connection to run scripts on, and what they cost it.
type scaled struct {
	scalePlan
	meter
	driver *rueidis.Driver
	runner *script.Runner
}

// scaleRow is measured on a server without keys, and leaves none.
func (b *bench) scaleRow(name string, measure func(ctx context.Context, s *scaled) (figures, error)) row {
	return row{name: name, slice: func(ctx context.Context, _ int) (figures, error) {
		d, err := rueidis.Open(ctx, rueidis.Options{Address: b.server.address, CommandTimeout: scaleTimeout})
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if err := b.server.command(ctx, "FLUSHALL").Error(); err != nil {
			return nil, err
		}
		f, err := measure(ctx, &scaled{b.plan.scale, b.server.meter, d, script.NewRunner(d, scaleTimeout)})
		if err != nil {
			return nil, err
		}
		return f, b.server.command(ctx, "FLUSHALL").Error()
	}}
}

// do carries out commands and ignores what they answer.
func (s *scaled) do(ctx context.Context, commands ...[]string) error {
	for _, words := range commands {
		if err := s.command(ctx, words...).Error(); err != nil {
			return err
		}
	}
	return nil
}

// run carries out calls in pipelines. Each must be answered without an error.
func (s *scaled) run(ctx context.Context, calls ...script.Call) error {
	for len(calls) > 0 {
		n := min(len(calls), 1000)
		results, err := s.runner.RunAll(ctx, calls[:n]...)
		for _, r := range results {
			if err == nil {
				err = r.Reply.Err
			}
		}
		if err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

// charge carries out a call, and adds the time in microseconds that the server spends in it, if it is
// to be known.
func (s *scaled) charge(ctx context.Context, cost samples, what string, call script.Call) error {
	if cost == nil {
		return s.run(ctx, call)
	}
	before, err := s.work(ctx)
	if err != nil {
		return err
	}
	if err := s.run(ctx, call); err != nil {
		return err
	}
	after, err := s.work(ctx)
	cost[what] = append(cost[what], after.minus(before)[countScriptTime])
	return err
}

// samples are the costs of calls, by what they do.
type samples map[string][]float64

// figures are the medians.
func (s samples) figures() figures {
	f := figures{}
	for what, costs := range s {
		f[what] = median(costs)
	}
	return f
}

// keys is how many keys the server has.
func (s *scaled) keys(ctx context.Context) (int64, error) { return s.command(ctx, "DBSIZE").AsInt64() }

// scaleOwner is the owner of a number. Ten clients share all owners.
func scaleOwner(n int) string {
	const clients = 10
	return protocol.Owner("4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f0"+strconv.Itoa(n%clients), int64(n+1))
}

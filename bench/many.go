package main

import (
	"context"
	"fmt"
	"time"
)

// manyPlan is how many holds, waiters and clients there are.
type manyPlan struct {
	holds, waiters, locks, clients int
	watch                          time.Duration // for how long their commands are counted
	settling                       time.Duration // for the first renewals and subscriptions, which do not count
}

var longMany = manyPlan{holds: 100_000, waiters: 100_000, locks: 1000, clients: 1000, watch: 30 * time.Second, settling: 5 * time.Second}

// manyContests are what one hold, one waiter and one client cost if there are many.
func (b *bench) manyContests() []contest {
	p, ours := b.plan.many, find(nameRedlatch)[0]
	o := order{Holds: p.holds, Workers: p.waiters, Locks: p.locks, Held: p.locks, Serve: true, WarmUp: p.settling, For: p.watch}
	cluster := row{name: "a Cluster of three", slice: func(ctx context.Context, round int) (figures, error) {
		addresses, stop, err := startCluster(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
		o := o
		o.Address = addresses
		return b.memoryRow(ours, "", o).slice(ctx, round)
	}}
	clients := contest{
		name: "clients", part: "many", extra: true, rounds: 1,
		title: fmt.Sprintf("%d clients of one server, in one process", p.clients),
		rows: []row{{name: "each client", slice: func(ctx context.Context, _ int) (figures, error) {
			return b.inFresh(ctx, ours, order{
				Task: taskClients, Contestant: ours.name, Address: b.server.address, Name: freshName("clients"), Workers: p.clients, WarmUp: p.settling,
			})
		}}},
	}
	for _, phase := range clientPhases {
		for _, figure := range []string{figureConnections, figureGoroutines, figureHeap, figureStacks} {
			format := "%.2f"
			if figure == figureHeap || figure == figureStacks {
				format = "%.0f"
			}
			head := figure
			if figure == figureConnections {
				head = phase + ": " + figure
			}
			clients.columns = append(clients.columns, column{figure: figure + " " + phase, format: format, head: head})
		}
	}
	commands := fmt.Sprintf("commands in %v", p.watch)
	return []contest{{
		name: "many", part: "many", extra: true, rounds: 1,
		title: fmt.Sprintf("%d holds, then %d waiters for %d locks", p.holds, p.waiters, p.locks),
		rows:  []row{b.memoryRow(ours, "one server", o), cluster},
		columns: []column{
			{figure: figureHoldHeap, format: "%.0f", head: "each hold: heap, bytes"}, {figure: figureHoldStack, format: "%.0f", head: "stack, bytes"},
			{figure: figureHoldCommands, format: "%.2f", head: commands},
			{figure: figureLosses, format: "%.0f"}, {figure: figureReleased, format: "%.1f"},
			{figure: figureWaiterHeap, format: "%.0f", head: "each waiter: heap, bytes"}, {figure: figureWaiterStack, format: "%.0f", head: "stack, bytes"},
			{figure: figureWaiterTraffic, format: "%.3f", head: commands}, {figure: figureAllServed, format: "%.1f"},
		},
	}, clients}
}

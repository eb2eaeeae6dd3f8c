package main

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
)

// What a pair takes of the servers, by what they are, and by how many connections bring the commands. All
// figures are processor time, which depends less on what else the machine does than a rate.

// spreadConnections is with how many connections each goroutine has its own.
const spreadConnections = 32

// spread are the same without Redisson, and with more connections.
var spread = []contestant{
	{name: "redlatch, many connections", clients: spreadConnections, open: ours(scaleTimeout, keeps)},
	{name: "redlatch, no peers", open: configured(noPeers, keeps)},
	{name: "redlatch, no peers, many connections", clients: spreadConnections, open: configured(noPeers, keeps)},
}

var noPeers = redlatch.Config{CommandTimeout: scaleTimeout, OldestPeer: "none"}

// serverLevels are how many goroutines there are, first with one connection and then with one each.
var serverLevels = []int{mostGoroutines, spreadConnections}

func (b *bench) servers() contest {
	c := contest{
		name: "servers", part: "servers", extra: true, rounds: b.plan.count(3),
		title: "Lock and unlock: processor time of a pair, µs",
		note:  "The servers' figures are those of all servers together.",
	}
	for i, head := range []string{", one connection", ", each its own connection"} {
		head = goroutines(serverLevels[i]) + head
		for _, figure := range []string{figureMainCPU, figureServerCPU, figureCPU} {
			c.columns = append(c.columns, column{figure: each(figure, fmt.Sprint(serverLevels[i])), format: "%.1f", head: head + ": " + figure})
			head = "the same"
		}
	}
	some := append(find(nameRedlatch), spread...)
	for _, kind := range []struct {
		name  string
		who   []contestant // at each level
		start func() (*server, error)
	}{
		{"one server", some[:2], func() (*server, error) { return startRedis() }},
		{"one server, two I/O threads", some[:2], func() (*server, error) { return startRedis("--io-threads", "2", "--io-threads-do-reads", "yes") }},
		{"a Cluster of 2", some[:2], func() (*server, error) { return startCluster(2) }},
		{"a Cluster of 4", some[:2], func() (*server, error) { return startCluster(4) }},
		{"a Cluster of 2, `OldestPeer: \"none\"`", some[2:], func() (*server, error) { return startCluster(2) }},
		{"a Cluster of 4, `OldestPeer: \"none\"`", some[2:], func() (*server, error) { return startCluster(4) }},
	} {
		c.rows = append(c.rows, row{name: kind.name, slice: func(ctx context.Context, _ int) (figures, error) {
			return b.pairsAt(ctx, kind.start, kind.who)
		}})
	}
	return c
}

// pairsAt measures contestants, one of each level, at servers of their own.
func (b *bench) pairsAt(ctx context.Context, start func() (*server, error), who []contestant) (figures, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	defer s.end()
	at, all := *b, figures{}
	at.server = s
	defer at.dismiss(false)
	for i, n := range serverLevels {
		f, err := at.pairRow(who[i], n, n, hotSlice).slice(ctx, 0)
		if err != nil {
			return nil, err
		}
		for figure, value := range f {
			all[each(figure, fmt.Sprint(n))] = value
		}
	}
	return all, nil
}

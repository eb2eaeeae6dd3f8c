package main

import (
	"fmt"
	"slices"
	"time"
)

// What a grant of a fair lock costs the server, by how many wait. What its scripts cost with the longest queue,
// and those of a read-write lock with the most readers, is bounded by tests of package script.

const (
	// scaleTimeout is enough for commands while thousands begin at once.
	scaleTimeout = time.Minute
	// scaleClients share the waiters, each in a process of its own.
	scaleClients = 4
	// goalWaiters is the row that has a goal.
	goalWaiters = 5000
)

func (b *bench) scale() contest {
	who := func(n int) string { return fmt.Sprintf("%d waiters", n) }
	c := contest{
		name: "fair", part: "scale", extra: true, rounds: 1,
		title:   "Fair lock: µs of Redis a grant, all commands of the library",
		columns: append(columns("%.1f", figureScriptsEach), columns("%.0f", figureScriptTime, figureListenTime, figureServerTime)...),
		goals: []goal{atMost(100, "time of Redis for a grant of a fair lock, µs, "+who(goalWaiters),
			of("fair", who(goalWaiters), figureServerTime))},
	}
	for _, n := range []int{10, 100, 1000, goalWaiters, 10_000, 60_000} {
		n = b.plan.size(n)
		if len(c.rows) > 0 && c.rows[len(c.rows)-1].name == who(n) {
			continue
		}
		c.rows = append(c.rows, b.contentionRow(who(n), contention{ // and one more holds the lock
			who: slices.Repeat([]contestant{fair}, scaleClients), workers: (n + scaleClients) / scaleClients,
			warmUp: 10 * time.Second, length: 2 * time.Second,
		}))
	}
	return c
}

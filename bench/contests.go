package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// contests are all tables of the page, in order.
func (b *bench) contests() []contest {
	return slices.Concat(
		b.pairContests(), []contest{b.hot(), b.crossing(), b.mostlyRead(), b.shares()}, b.permitContests(),
		[]contest{b.many(), b.growth(), b.servers()},
	)
}

// parts are the words that -only takes.
func (b *bench) parts() (parts []string) {
	for _, c := range b.contests() {
		if !slices.Contains(parts, c.part) {
			parts = append(parts, c.part)
		}
	}
	return parts
}

// rowsOf makes a row of each contestant.
func rowsOf(who []contestant, make func(contestant) row) (rows []row) {
	for _, c := range who {
		rows = append(rows, make(c))
	}
	return rows
}

const (
	pairRounds = 21
	pairSlice  = 50 * time.Millisecond
	hotRounds  = 7
	hotSlice   = 500 * time.Millisecond
	manySlice  = 30 * time.Second
	// warmUp comes before each slice on one lock and is not counted: connections and subscriptions are
	// made in it.
	warmUp = 200 * time.Millisecond

	hotWorkers     = 16
	crossProcesses = 2
	crossWorkers   = 8
	shareWorkers   = 2
	manyHolds      = 100_000
	manyLocks      = 1000
)

var costColumns = slices.Concat(
	columns("%.1f", figureTime), columns("%.0f", figureRate),
	[]column{{figure: figureRate, format: "%.2f", head: "× raw scripts", over: true}},
	columns("%.1f", figureCPU, figureServerCPU, figureAllocations),
)

func pairsOf(level int) string { return "pairs " + goroutines(level) }

func (b *bench) pairContests() (all []contest) {
	for _, n := range b.plan.levels {
		who := slices.DeleteFunc(b.present(pairers), func(c contestant) bool {
			return len(b.rows) > 0 && !slices.Contains(b.rows, c.name)
		})
		all = append(all, contest{
			name: pairsOf(n), part: "pairs", rounds: b.plan.count(pairRounds),
			title: fmt.Sprintf("Lock and unlock, %s, each its own name", goroutines(n)),
			rows:  rowsOf(who, func(c contestant) row { return b.pairRow(c, n, n, pairSlice) }),
			columns: slices.Concat(costColumns,
				columns("%.0f", figureBytes), columns("%.2f", figureWrites), columns("%.1f", figureScripts, figureOthers)),
			goals: pairGoals(pairsOf(n), n),
		})
	}
	return all
}

// fairnessColumns are what all contests for one lock show.
var fairnessColumns = slices.Concat(
	columns("%.0f", figureMeanWait), columns("%.1f", figureLongest, figureUnfairness, figureUnfairGrants),
	columns("%.0f", figureStarved), columns("%.1f", figureTail),
	[]column{{figure: figureStranded, format: "%.0f", total: true}},
)

// contentionRow is a slice of a contest for one lock.
func (b *bench) contentionRow(name string, c contention) row {
	c.warmUp, c.length = b.plan.time(c.warmUp), b.plan.time(c.length)
	return row{name: name, base: namePingPong, slice: func(ctx context.Context, _ int) (figures, error) { return b.contend(ctx, c) }}
}

func (b *bench) hot() contest {
	return contest{
		name: "hot", part: "hot", rounds: b.plan.count(hotRounds),
		title: fmt.Sprintf("One lock, %d goroutines of one process", hotWorkers),
		rows: rowsOf(b.present(racers()), func(c contestant) row {
			return b.contentionRow(c.name, contention{who: []contestant{c}, workers: hotWorkers, warmUp: warmUp, length: hotSlice})
		}),
		columns: slices.Concat(columns("%.0f", figureCycles), columns("%.2f", figureScriptsEach, figureWritesEach),
			columns("%.1f %%", figureInOrder), fairnessColumns),
		goals: hotGoals(),
	}
}

// crossing is a contest of two processes. The first row is what a hand-over between them is compared
// with.
func (b *bench) crossing() contest {
	const length, pingPongSlice = time.Second, 300 * time.Millisecond
	who := append([]contestant{pingPong}, b.present(racers())...)
	return contest{
		name: "crossing", part: "crossing", rounds: b.plan.count(5),
		title: fmt.Sprintf("One lock, %d processes of %d goroutines", crossProcesses, crossWorkers),
		note:  "Ping-pong is publish, delivery and one script between two processes.",
		rows: rowsOf(who, func(c contestant) row {
			slice := contention{who: []contestant{c, c}, workers: crossWorkers, warmUp: warmUp, length: length}
			if c.name == namePingPong {
				slice.workers, slice.warmUp, slice.length = 1, pingPongSlice/4, pingPongSlice
			}
			return b.contentionRow(c.name, slice)
		}),
		columns: slices.Concat(columns("%.0f", figureCycles), columns("%.0f %%", figureLesserShare),
			columns("%.1f %%", figureToOther), columns("%.0f", figureHandOver),
			[]column{{figure: figureHandOver, format: "%.2f", head: "× ping-pong", over: true}}, fairnessColumns),
		goals: crossGoals(),
	}
}

func (b *bench) mostlyRead() contest {
	return contest{
		name: "readers", part: "readers", rounds: b.plan.count(hotRounds),
		title:   fmt.Sprintf("One lock that is mostly read, %d goroutines of one process", hotWorkers),
		rows:    rowsOf(readers, func(c contestant) row { return b.pairRow(c, hotWorkers, 1, hotSlice) }),
		columns: slices.Concat(columns("%.0f", figureRate), columns("%.1f", figureCPU, figureServerCPU), columns("%.2f", figureWrites)),
		goals: []goal{atLeast(20, "pairs/s of a lock that is mostly read, with a cohort, × without",
			over("readers", nameReadersCohort, nameReaders, figureRate))},
	}
}

// shareSections are how long the lock is held each time.
var shareSections = []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond}

func shareRow(other string, section time.Duration) string {
	return fmt.Sprintf("beside %s, sections of %g ms", other, section.Seconds()*1e3)
}

// shares is redlatch in one process, and in the other one another implementation of the same format,
// or redlatch too.
func (b *bench) shares() contest {
	// Java and Node do not make a section shorter.
	const shortest = 2 * time.Microsecond
	var rows []row
	for _, other := range b.present(find(nameRedlatch, nameRedisson, nameNode)) {
		for _, section := range shareSections {
			rows = append(rows, b.contentionRow(shareRow(other.name, section), contention{
				who: append(find(nameRedlatch), other), workers: shareWorkers, section: max(section, shortest),
				warmUp: warmUp, length: 3 * time.Second,
			}))
		}
	}
	return contest{
		name: "shares", part: "shares", rounds: b.plan.count(2), rows: rows, goals: shareGoals(),
		title: fmt.Sprintf("One lock, redlatch beside another implementation, %d threads each", shareWorkers),
		columns: []column{
			{figure: figureCycles, format: "%.0f"},
			{figure: figureShareFirst, format: "%.0f %%", head: "share of redlatch"},
			{figure: figureShareSecond, format: "%.0f %%", head: "share of the other"},
			{figure: figureLongestFirst, format: "%.1f", head: "longest wait of redlatch, ms"},
			{figure: figureLongestSecond, format: "%.1f", head: "of the other, ms"},
			{figure: figureLongestRatio, format: "%.1f", head: "÷ that of redlatch"},
		},
	}
}

func (b *bench) permitContests() (all []contest) {
	for _, n := range []int{1, mostGoroutines} {
		c := contest{
			name: "permits " + goroutines(n), part: "permits", rounds: b.plan.count(pairRounds),
			title:   fmt.Sprintf("Permits taken and put back, %s, each its own semaphore", goroutines(n)),
			rows:    rowsOf(permits, func(c contestant) row { return b.pairRow(c, n, n, pairSlice) }),
			columns: append(slices.Clone(costColumns), columns("%.2f", figureWrites)...),
		}
		for _, rows := range [][2]string{{namePermits, nameRawPermits}, {nameSemaphore, nameRawSemaphore}} {
			c.goals = append(c.goals, atLeast(0.95, "pairs/s of "+rows[0]+", × raw scripts at "+goroutines(n), over(c.name, rows[0], rows[1], figureRate)))
		}
		all = append(all, c)
	}
	return all
}

// crowd is so many holds, and then so many waiters for the locks of another process.
func (b *bench) crowd(c contestant, holds, locks, waiters int, length time.Duration) crowd {
	o := order{Task: taskKeep, Workers: holds, Locks: holds, WarmUp: b.plan.time(10 * time.Second), For: length, Weigh: true}
	all := crowd{contestant: c, holds: o}
	o.Workers, o.Locks, o.Weigh = locks, locks, false
	all.held = o
	o.Task, o.Workers, o.Weigh, o.Patience = taskContend, waiters, true, time.Minute
	all.waiters = o
	return all
}

// many is what one hold, one waiter and one client cost if there are many.
func (b *bench) many() contest {
	n, locks, watch := b.plan.size(manyHolds), b.plan.size(manyLocks), b.plan.time(manySlice)
	ours := find(nameRedlatch)[0]
	one, clients := b.crowd(ours, n, locks, n, watch), b.crowd(ours, locks, locks, locks, watch)
	cluster := one
	cluster.start = func() (*server, error) { return startCluster(3) }
	clients.holds.Clients, clients.waiters.Clients = locks, locks
	c := contest{
		name: "many", part: "many", extra: true, rounds: 1,
		title: fmt.Sprintf("%d holds, then %d waiters for %d locks", n, n, locks),
		note:  "Each of the clients of the last row has a hold, or a waiter. What the client itself takes is counted there.",
		rows: []row{
			one.row(b, "one server"), cluster.row(b, "a Cluster of three"), clients.row(b, fmt.Sprintf("%d clients of one server", locks)),
		},
	}
	size := func(figure, of string) func(results) float64 {
		return func(r results) float64 { return r.median("many", "one server", each(figure, of)) }
	}
	c.goals = []goal{
		atMost(500, "bytes of a hold", size(figureHeap, aHold)), atMost(5, fmt.Sprintf("commands of a hold in %v", watch), size(figureCommands, aHold)),
		atMost(4096, "bytes of a waiter and its stack", func(r results) float64 {
			return size(figureHeap, aWaiter)(r) + size(figureStack, aWaiter)(r)
		}),
	}
	for _, of := range []string{aHold, aWaiter} {
		c.columns = append(c.columns,
			column{figure: each(figureHeap, of), format: "%.0f", head: of + ": " + figureHeap},
			column{figure: each(figureStack, of), format: "%.0f", head: figureStack},
			column{figure: each(figureGoroutines, of), format: "%.2f", head: figureGoroutines},
			column{figure: each(countConnections, of), format: "%.2f", head: countConnections},
			column{figure: each(figureCommands, of), format: "%.3f", head: fmt.Sprintf("commands in %v", watch)})
	}
	c.columns = slices.Concat(c.columns, columns("%.0f", figureLosses), columns("%.1f", figureReleased, figureAllServed))
	return c
}

// summary is the main table: each library once.
func (b *bench) summary() contest {
	c := contest{name: "hot", title: "In short", rows: rowsOf(b.present(racers()), func(c contestant) row { return row{name: c.name} })}
	last := ""
	for _, n := range b.plan.levels {
		last = pairsOf(n)
		c.columns = append(c.columns, column{contest: last, figure: figureRate, format: "%.0f", head: "pairs/s, " + goroutines(n)})
	}
	c.columns = append(c.columns,
		column{contest: last, figure: figureCPU, format: "%.1f", head: "own CPU a pair, µs"},
		column{contest: last, figure: figureServerCPU, format: "%.1f", head: "server CPU a pair, µs"})
	for _, where := range [][2]string{{"hot", "one process"}, {"crossing", "two processes"}} {
		c.columns = append(c.columns,
			column{contest: where[0], figure: figureCycles, format: "%.0f", head: "cycles/s, " + where[1]},
			column{contest: where[0], figure: figureUnfairness, format: "%.1f", head: "longest ÷ mean wait"})
	}
	return c
}

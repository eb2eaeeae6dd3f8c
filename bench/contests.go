package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// contests are all tables of the page, in order.
func (b *bench) contests() []contest {
	return slices.Concat(b.pairContests(), b.lockContests(), b.permitContests(), b.waitContests(), b.manyContests(), b.scaleContests())
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

var costColumns = []column{
	{figure: figureTime, format: "%.1f"},
	{figure: figureRate, format: "%.0f"},
	{figure: figureRate, format: "%.2f", head: "× raw scripts", over: true},
	{figure: figureCPU, format: "%.1f"},
	{figure: figureServerCPU, format: "%.1f"},
	{figure: figureAllocations, format: "%.1f"},
}

func pairsOf(level int) string { return "pairs " + goroutines(level) }

func (b *bench) pairContests() (all []contest) {
	for _, n := range b.plan.levels {
		who := slices.DeleteFunc(b.present(pairers), func(c contestant) bool {
			return c.most > 0 && n > c.most || len(b.rows) > 0 && !slices.Contains(b.rows, c.name)
		})
		all = append(all, contest{
			name: pairsOf(n), part: "pairs", rounds: b.plan.pairRounds,
			title: fmt.Sprintf("Lock and unlock, %s, each its own name", goroutines(n)),
			rows:  rowsOf(who, func(c contestant) row { return b.pairRow(c, n, false, b.plan.pairSlice) }),
			columns: slices.Concat(costColumns, []column{
				{figure: figureBytes, format: "%.0f"}, {figure: figureWrites, format: "%.2f"},
				{figure: figureScripts, format: "%.1f"}, {figure: figureOthers, format: "%.1f"},
			}),
			goals: pairGoals(pairsOf(n), n),
		})
	}
	return all
}

const (
	hotWorkers     = 16
	crossProcesses = 2
	crossWorkers   = 8
	readerWorkers  = 16
)

// fairnessColumns are what all contests for one lock show.
var fairnessColumns = []column{
	{figure: figureMeanWait, format: "%.0f"},
	{figure: figureLongest, format: "%.1f"},
	{figure: figureUnfairness, format: "%.1f"},
	{figure: figureUnfairGrants, format: "%.1f"},
	{figure: figureStarved, format: "%.0f"},
	{figure: figureTail, format: "%.1f"},
	{figure: figureStranded, format: "%.0f", total: true},
}

// contentionRow is a slice of a contest for one lock.
func (b *bench) contentionRow(name string, c contention) row {
	return row{name: name, base: namePingPong, slice: func(ctx context.Context, _ int) (figures, error) { return b.contend(ctx, c) }}
}

func (b *bench) lockContests() []contest {
	hot := contest{
		name: "hot", part: "hot", rounds: b.plan.hotRounds,
		title: fmt.Sprintf("One lock, %d goroutines of one process", hotWorkers),
		rows: rowsOf(b.present(racers()), func(c contestant) row {
			return b.contentionRow(c.name, contention{who: []contestant{c}, workers: hotWorkers, warmUp: b.plan.warmUp, length: b.plan.hotSlice})
		}),
		columns: slices.Concat([]column{
			{figure: figureCycles, format: "%.0f"}, {figure: figureScriptsEach, format: "%.2f"},
			{figure: figureWritesEach, format: "%.2f"}, {figure: figureInOrder, format: "%.1f %%"},
		}, fairnessColumns),
		goals: hotGoals(),
	}
	mostlyRead := contest{
		name: "readers", part: "readers", rounds: b.plan.hotRounds,
		title: fmt.Sprintf("One lock that is mostly read, %d goroutines of one process", readerWorkers),
		rows:  rowsOf(readers, func(c contestant) row { return b.pairRow(c, readerWorkers, true, b.plan.hotSlice) }),
		columns: []column{
			{figure: figureRate, format: "%.0f"}, {figure: figureCPU, format: "%.1f"},
			{figure: figureServerCPU, format: "%.1f"}, {figure: figureWrites, format: "%.2f"},
		},
		goals: []goal{atLeast(20, "pairs/s of a lock that is mostly read, with a cohort, × without",
			over("readers", nameReadersCohort, nameReaders, figureRate))},
	}
	return []contest{hot, b.crossing(), mostlyRead, b.shares()}
}

// crossing is a contest of two processes. The first row is what a hand-over between them is compared
// with.
func (b *bench) crossing() contest {
	rows := []row{b.pingPongRow()}
	for _, c := range b.present(racers()) {
		rows = append(rows, b.contentionRow(c.name, contention{
			who: slices.Repeat([]contestant{c}, crossProcesses), workers: crossWorkers, warmUp: b.plan.warmUp, length: b.plan.crossSlice,
		}))
	}
	return contest{
		name: "crossing", part: "crossing", rounds: b.plan.crossRounds, rows: rows,
		title: fmt.Sprintf("One lock, %d processes of %d goroutines", crossProcesses, crossWorkers),
		note:  "Ping-pong is publish, delivery and one script between two processes.",
		columns: slices.Concat([]column{
			{figure: figureCycles, format: "%.0f"}, {figure: figureLesserShare, format: "%.0f %%"},
			{figure: figureToOther, format: "%.1f %%"}, {figure: figureHandOver, format: "%.0f"},
			{figure: figureHandOver, format: "%.2f", head: "× ping-pong", over: true},
		}, fairnessColumns),
		goals: crossGoals(),
	}
}

// pingPongRow tells nothing but the time of its hand-over.
func (b *bench) pingPongRow() row {
	slice := b.contentionRow(namePingPong, contention{
		who: []contestant{pingPong, pingPong}, workers: 1, warmUp: b.plan.pingPongSlice / 4, length: b.plan.pingPongSlice,
	})
	return row{slice.name, slice.base, func(ctx context.Context, round int) (figures, error) {
		f, err := slice.slice(ctx, round)
		return figures{figureHandOver: f[figureHandOver]}, err
	}}
}

const (
	shareWorkers = 2
	// shortest is the shortest section of a contest with another implementation, which Java and Node
	// do not make shorter.
	shortest = 2 * time.Microsecond
)

// shareSections are how long the lock is held each time.
var shareSections = []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond}

func shareRow(other string, section time.Duration) string {
	return fmt.Sprintf("beside %s, sections of %g ms", other, section.Seconds()*1e3)
}

// shares is redlatch in one process, and in the other one another implementation of the same format,
// or redlatch too.
func (b *bench) shares() contest {
	var rows []row
	for _, other := range b.present(slices.Concat(find(nameRedlatch, nameRedisson), []contestant{node})) {
		for _, section := range shareSections {
			rows = append(rows, b.contentionRow(shareRow(other.name, section), contention{
				who: append(find(nameRedlatch), other), workers: shareWorkers, section: max(section, shortest),
				warmUp: b.plan.warmUp, length: b.plan.shareSlice, clocksDiffer: other.foreign,
			}))
		}
	}
	return contest{
		name: "shares", part: "shares", rounds: b.plan.shareRounds, rows: rows, goals: shareGoals(),
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

// permitsOfMany are the permits of one semaphore with many waiters.
const permitsOfMany = 100

func (b *bench) permitContests() (all []contest) {
	for _, n := range []int{1, mostGoroutines} {
		c := contest{
			name: "permits " + goroutines(n), part: "permits", rounds: b.plan.pairRounds,
			title:   fmt.Sprintf("Permits taken and put back, %s, each its own semaphore", goroutines(n)),
			rows:    rowsOf(permits, func(c contestant) row { return b.pairRow(c, n, false, b.plan.pairSlice) }),
			columns: append(slices.Clone(costColumns), column{figure: figureWrites, format: "%.2f"}),
		}
		if n == mostGoroutines {
			for _, rows := range [][2]string{{namePermits, nameRawPermits}, {nameSemaphore, nameRawSemaphore}} {
				c.goals = append(c.goals, atLeast(0.9, "pairs/s of "+rows[0]+", × raw scripts at "+goroutines(n), over(c.name, rows[0], rows[1], figureRate)))
			}
		}
		all = append(all, c)
	}
	queue := b.memoryRow(manyPermits, fmt.Sprintf("%d waiters, %d permits", b.plan.memory, permitsOfMany), order{
		Workers: b.plan.memory, Locks: 1, Held: permitsOfMany, Serve: true, WarmUp: b.plan.settle, For: b.plan.idleSlice,
	})
	return append(all, contest{
		name: "permit queue", part: "permits", rounds: 1, rows: []row{queue},
		title: "One PermitSemaphore, many waiters of one process, each of which puts its permit back at once",
		columns: []column{
			{figure: figureAllServed, format: "%.2f"}, {figure: figureGrants, format: "%.0f", head: "permits/s"},
			{figure: figureGrantCPU, format: "%.1f", head: "server CPU a permit, µs"},
			{figure: figureGrantScripts, format: "%.2f", head: "scripts a permit"},
			{figure: figureTraffic, format: "%.2f"}, {figure: figureWaiterHeap, format: "%.0f"},
			{figure: figureWaiterStack, format: "%.0f", head: "stack, bytes"},
		},
	})
}

// memoryLocks are those that the waiters of the table of memory wait for.
const memoryLocks = 100

// idlers wait for a lock in Redis with the default settings of their libraries.
func (b *bench) idlers() []contestant {
	return b.present(find(nameRedlatch, nameRueidislock, nameRedislock, nameRedsync, nameRedisson))
}

func (b *bench) waitContests() []contest {
	idle := contest{
		name: "idle", part: "idle", together: true, rows: rowsOf(b.idlers(), b.idle),
		title: "What a waiter costs while nothing changes",
		note:  fmt.Sprintf("%d waiters of one process, for %v. Per waiter and second.", idleWaiters, b.plan.idleSlice),
	}
	for _, locks := range []int{1, idleWaiters} {
		what := "all wait for one lock: "
		if locks > 1 {
			what = "each for a lock of its own: "
		}
		idle.columns = append(idle.columns,
			column{figure: idleFigure(countScripts, locks), format: "%.3f", head: what + countScripts},
			column{figure: idleFigure(countOthers, locks), format: "%.3f", head: countOthers},
			column{figure: idleFigure(countBytes, locks), format: "%.1f", head: countBytes})
	}
	memory := contest{
		name: "memory", part: "memory", rounds: 1,
		title: "Memory of the process",
		note:  fmt.Sprintf("%d holds, then %d waiters for %d locks that another client has.", b.plan.memory, b.plan.memory, memoryLocks),
		rows: rowsOf(b.idlers(), func(c contestant) row {
			return b.memoryRow(c, c.name, order{Workers: b.plan.memory, Holds: b.plan.memory, Locks: memoryLocks, Held: memoryLocks})
		}),
		columns: []column{{figure: figureHold, format: "%.0f"}, {figure: figureWaiter, format: "%.0f"}},
	}
	return []contest{idle, memory}
}

// memoryRow measures holds and waiters in a new process.
func (b *bench) memoryRow(c contestant, name string, o order) row {
	o.Task, o.Contestant, o.Name = taskMemory, c.name, freshName("memory")
	return row{name: name, slice: func(ctx context.Context, _ int) (figures, error) {
		o := o
		if o.Address == "" {
			o.Address = b.server.address
		}
		return b.inFresh(ctx, c, o)
	}}
}

// inFresh has a new helper carry out an order.
func (b *bench) inFresh(ctx context.Context, c contestant, o order) (figures, error) {
	helpers, err := b.fresh(c, 1)
	if err != nil {
		return nil, err
	}
	defer helpers.end()
	_, reports, err := helpers.perform(ctx, []order{o}, hooks{})
	if err != nil {
		return nil, err
	}
	if m := reports[0].Memory; m != nil {
		return figures{figureHold: m.Hold, figureWaiter: m.Waiter}, nil
	}
	return reports[0].Figures, nil
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

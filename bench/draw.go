package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// draw writes the plots into a folder.
func (b *bench) draw(r results, dir string) error {
	contended := fmt.Sprintf("one lock, %d processes of %d goroutines", crossProcesses, crossWorkers)
	busiest := b.plan.levels[len(b.plan.levels)-1]
	const perWaiter = "commands per second and waiter, those inside scripts included"
	for name, image := range map[string]string{
		"latency.svg":  b.drawLatency(r),
		"fairness.svg": plotBars("Longest wait ÷ mean wait", contended, "ratio; 1 is perfectly fair", nil, r.bars("crossing", figureUnfairness)),
		"tail.svg": plotBars("Tail: from the end of the slice until the last waiter had the lock", contended, "milliseconds", nil,
			r.bars("crossing", figureTail)),
		"server.svg": plotBars("Processor time of the server for one lock and unlock", goroutines(busiest)+", each its own lock", "microseconds", nil,
			r.bars(pairsOf(busiest), figureServerCPU)),
		"wait.svg": plotBars("Commands of one waiter in a second while nothing changes", fmt.Sprintf("%d waiters of one process", idleWaiters), perWaiter,
			[]string{"all wait for one lock", "each waits for a lock of its own"},
			r.bars("idle", idleFigure(countAll, 1), idleFigure(countAll, idleWaiters))),
		"memory.svg": plotBars("Memory of the process that locks", "heap and stacks", "bytes", []string{"a hold", "a waiter"},
			r.bars("memory", figureHold, figureWaiter)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(image), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bars are the medians of figures, in the order of the tables.
func (r results) bars(contest string, figures ...string) (all []bars) {
	for _, c := range racers() {
		if len(r[contest][c.name]) == 0 {
			continue
		}
		of := bars{name: c.name}
		for _, figure := range figures {
			of.values = append(of.values, r.median(contest, c.name, figure))
		}
		all = append(all, of)
	}
	return all
}

func (b *bench) drawLatency(r results) string {
	var latencies []curve
	for _, c := range racers() {
		line, known := curve{name: c.name}, false
		for _, n := range b.plan.levels {
			// With n callers at a time, each waits for n times the time between two finished pairs.
			value := float64(n) * r.median(pairsOf(n), c.name, figureTime)
			line.values, known = append(line.values, value), known || !math.IsNaN(value)
		}
		if known {
			latencies = append(latencies, line)
		}
	}
	return plotCurves("Mean time of lock and unlock, µs", "each goroutine its own lock", b.plan.levels, latencies)
}

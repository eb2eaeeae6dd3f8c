package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// draw writes the plots into a folder.
func (r results) draw(dir string) error {
	contended := fmt.Sprintf("one lock, %d processes of %d goroutines", crossProcesses, crossWorkers)
	busiest := r.pairs[len(r.pairs)-1]
	idle := fmt.Sprintf("%d waiters of one process", idleWaiters)
	for name, image := range map[string]string{
		"latency.svg": r.drawLatency(),
		"fairness.svg": plotBars("Longest wait ÷ mean wait", contended, "ratio; 1 is perfectly fair", nil,
			barsOf(r.crossing, ledger.longestToMean)),
		"tail.svg": plotBars("Tail: from the end of the slice until the last waiter had the lock", contended, "milliseconds", nil,
			barsOf(r.crossing, ledger.tailMillis)),
		"server.svg": plotBars("Processor time of the server for one lock and unlock", goroutines(busiest.goroutines)+", each its own lock", "microseconds", nil,
			barsOf(busiest.runs, pairRun.serverMicros)),
		"wait.svg": plotBars("Commands of one waiter in a second while nothing changes", idle, "commands per second and waiter, those inside scripts included",
			[]string{"all wait for one lock", "each waits for a lock of its own"},
			pairsOf(r.idle, func(row idleRow) []float64 { return []float64{row.shared.commands(), row.own.commands()} })),
		"memory.svg": plotBars("Memory of the process that locks", "heap and stacks", "bytes", []string{"a hold", "a waiter"},
			pairsOf(r.memory, func(row footprint) []float64 { return []float64{row.Hold, row.Waiter} })),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(image), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// barsOf are the medians of a figure, in the order of the tables.
func barsOf[R any](runs map[string][]R, figure func(R) float64) (all []bars) {
	for _, e := range racers() {
		if of := runs[e.name]; len(of) > 0 {
			all = append(all, bars{e.name, []float64{column(of, figure)}})
		}
	}
	return all
}

// pairsOf are two bars for each row, in the order of the tables.
func pairsOf[R any](rows map[string]R, values func(R) []float64) (all []bars) {
	for _, e := range racers() {
		if row, found := rows[e.name]; found {
			all = append(all, bars{e.name, values(row)})
		}
	}
	return all
}

func (r results) drawLatency() string {
	var levels []int
	for _, table := range r.pairs {
		levels = append(levels, table.goroutines)
	}
	var latencies []curve
	for _, e := range racers() {
		if len(r.hot[e.name]) == 0 || len(r.pairs) == 0 || len(r.pairs[0].runs[e.name]) == 0 {
			continue
		}
		c := curve{name: e.name}
		for _, table := range r.pairs {
			// With n callers at a time, each waits for n times the time between two finished pairs.
			c.values = append(c.values, float64(table.goroutines)*cell(table.runs[e.name], pairRun.micros))
		}
		latencies = append(latencies, c)
	}
	return plotCurves("Mean time of lock and unlock, µs", "each goroutine its own lock", levels, latencies)
}

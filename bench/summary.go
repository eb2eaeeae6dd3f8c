package main

import (
	"fmt"
	"math"
)

// results is everything that was measured.
type results struct {
	pairs     []pairTable // one of each level
	hot       map[string][]hotRun
	crossing  map[string][]ledger
	pingPongs []float64
	readers   map[string][]pairRun
	permits   []pairTable // one of each level
	fairGrant float64     // µs; 0 until it is measured
	shares    []shareRow
	idle      map[string]idleRow
	memory    map[string]footprint
}

// goals are all goals and how they went.
func (r results) goals() []goal {
	var goals []goal
	for _, table := range r.pairs {
		goals = append(goals, pairGoals(table)...)
	}
	goals = append(goals, hotGoals(r.hot)...)
	goals = append(goals, crossGoals(r.crossing, r.pingPongs)...)
	goals = append(goals, readerGoal(r.readers), fairGoal(r.fairGrant))
	for _, table := range r.permits {
		goals = append(goals, permitGoals(table)...)
	}
	return append(goals, shareGoals(r.shares)...)
}

// hotLedgers are the ledgers of one library on one lock in one process.
func (r results) hotLedgers(name string) []ledger {
	var ledgers []ledger
	for _, run := range r.hot[name] {
		ledgers = append(ledgers, run.ledger)
	}
	return ledgers
}

// summary is the main table: each library once.
func (p page) summary(r results) {
	p.line("### In short\n")
	head := []string{""}
	for _, table := range r.pairs {
		head = append(head, fmt.Sprintf("pairs/s, %s", goroutines(table.goroutines)))
	}
	head = append(head, "own CPU a pair, µs", "server CPU a pair, µs", "cycles/s, one process", "longest ÷ mean wait", "cycles/s, two processes", "longest ÷ mean wait")
	var rows [][]string
	for _, e := range racers() {
		if len(r.hot[e.name]) == 0 {
			continue
		}
		row := []string{e.name}
		for _, table := range r.pairs {
			row = append(row, figure("%.0f", cell(table.runs[e.name], pairRun.perSecond)))
		}
		busiest := r.pairs[len(r.pairs)-1].runs[e.name]
		row = append(row, figure("%.1f", cell(busiest, pairRun.cpuMicros)), figure("%.1f", cell(busiest, pairRun.serverMicros)))
		for _, ledgers := range [][]ledger{r.hotLedgers(e.name), r.crossing[e.name]} {
			row = append(row, fmt.Sprintf("%.0f", column(ledgers, ledger.perSecond)),
				fmt.Sprintf("%.1f", column(ledgers, ledger.longestToMean)))
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
}

// cell is the median of a figure, and NaN where there is no run.
func cell[R any](runs []R, figure func(R) float64) float64 {
	if len(runs) == 0 {
		return math.NaN()
	}
	return column(runs, figure)
}

package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
)

// page writes the results as Markdown.
type page struct {
	out io.Writer
}

func (p page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// table writes one table; the first column is text, the others are figures.
func (p page) table(head []string, rows [][]string) {
	p.line("| %s |", strings.Join(head, " | "))
	p.line("|---%s|", strings.Repeat("|--:", len(head)-1))
	for _, row := range rows {
		p.line("| %s |", strings.Join(row, " | "))
	}
	p.line("")
}

func (p page) head(software string) {
	var versions []string
	for _, e := range racers() {
		versions = append(versions, e.name+" "+version(e.module))
	}
	p.line("%s, %s, %d cores; %s; go-redis %s.\n", software, runtime.Version(), runtime.NumCPU(),
		strings.Join(versions, ", "), version("github.com/redis/go-redis/v9"))
}

func (p page) pairs(t pairTable) {
	p.line("### Lock and unlock, %s, each its own name\n", goroutines(t.goroutines))
	var rows [][]string
	for _, e := range entrants() {
		runs := t.runs[e.name]
		of := func(figure func(pairRun) float64) float64 { return column(runs, figure) }
		rows = append(rows, []string{
			e.name,
			fmt.Sprintf("%.1f", of(pairRun.micros)),
			fmt.Sprintf("%.0f", of(pairRun.perSecond)),
			fmt.Sprintf("%.2f", ratios(runs, t.runs[nameRaw], pairRun.perSecond)),
			fmt.Sprintf("%.1f", of(pairRun.cpuMicros)),
			fmt.Sprintf("%.1f", of(func(r pairRun) float64 { return r.per(float64(r.allocs)) })),
			fmt.Sprintf("%.0f", of(func(r pairRun) float64 { return r.per(float64(r.bytes)) })),
			fmt.Sprintf("%.2f", of(func(r pairRun) float64 { return r.per(float64(r.writes)) })),
			fmt.Sprintf("%.1f + %.1f", of(func(r pairRun) float64 { return r.per(float64(r.request.scripts)) }),
				of(func(r pairRun) float64 { return r.per(float64(r.request.others)) })),
		})
	}
	p.table([]string{"", "µs/pair", "pairs/s", "× raw limit", "own CPU, µs", "allocations", "bytes", "writes", "scripts + other commands"}, rows)
	for _, e := range entrants() {
		if n := t.stuck[e.name]; n > 0 {
			p.line("%s: %d acquisitions of a free lock did not return within %v; their slices were repeated.\n", e.name, n, patience)
		}
	}
}

func (p page) hot(runs map[string][]hotRun) {
	p.line("### One lock, %d goroutines of one process\n", hotWorkers)
	var rows [][]string
	for _, e := range racers() {
		of := func(figure func(hotRun) float64) float64 { return column(runs[e.name], figure) }
		rows = append(rows, []string{
			e.name,
			fmt.Sprintf("%.0f", of(func(r hotRun) float64 { return r.ledger.perSecond() })),
			fmt.Sprintf("%.2f", of(func(r hotRun) float64 { return r.per(float64(r.request.scripts)) })),
			fmt.Sprintf("%.2f", of(func(r hotRun) float64 { return r.per(float64(r.writes)) })),
			fmt.Sprintf("%.1f", of(func(r hotRun) float64 { return mean(r.ledger.waits()) / 1e3 })),
			fmt.Sprintf("%.1f", of(func(r hotRun) float64 { return r.ledger.longestToMean() })),
			fmt.Sprintf("%.1f", of(func(r hotRun) float64 { return r.ledger.longestToMeanInGrants() })),
			fmt.Sprintf("%.1f %%", of(func(r hotRun) float64 { return 100 * r.ledger.inOrder() })),
			fmt.Sprint(total(runs[e.name], func(r hotRun) int { return r.ledger.stranded() })),
		})
	}
	p.table([]string{"", "cycles/s", "scripts/cycle", "writes/cycle", "mean wait, µs", "longest ÷ mean", "same, in grants", "in order of arrival", "stranded"}, rows)
}

func (p page) crossing(runs map[string][]ledger, floors []float64) {
	p.line("### One lock, %d processes of %d goroutines\n", crossProcesses, crossWorkers)
	p.line("Publish, delivery and one script between two processes: %.0f µs.\n", median(floors)/1e3)
	var rows [][]string
	for _, e := range racers() {
		of := func(figure func(ledger) float64) float64 { return column(runs[e.name], figure) }
		crossing := of(func(l ledger) float64 { return median(l.crossings()) })
		rows = append(rows, []string{
			e.name,
			fmt.Sprintf("%.0f", of(ledger.perSecond)),
			fmt.Sprintf("%.0f", of(func(l ledger) float64 { return 100 * float64(len(l.crossings())) / float64(max(len(l.granted()), 1)) })),
			fmt.Sprintf("%.0f", crossing/1e3),
			fmt.Sprintf("%.2f", crossing/median(floors)),
			fmt.Sprintf("%.0f", of(func(l ledger) float64 { return mean(l.waits()) / 1e3 })),
			fmt.Sprintf("%.1f", of(ledger.longestToMean)),
			fmt.Sprintf("%.1f", of(ledger.longestToMeanInGrants)),
			fmt.Sprint(total(runs[e.name], ledger.stranded)),
		})
	}
	p.table([]string{"", "cycles/s", "% to the other process", "hand-over to it, µs", "× floor", "mean wait, µs", "longest ÷ mean", "same, in grants", "stranded"}, rows)
}

func (p page) goals(goals []goal) {
	p.line("### Goals\n")
	var rows [][]string
	for _, g := range goals {
		rows = append(rows, []string{g.what, g.wanted(), fmt.Sprintf("%.2f", g.reached), g.verdict()})
	}
	p.table([]string{"", "goal", "reached", ""}, rows)
}

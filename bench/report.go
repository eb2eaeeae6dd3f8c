package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
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

func (p page) head(software string, versions []string) {
	p.line("%s, %s, %d cores; %s; go-redis %s. Load average before the run: %s.\n", software, runtime.Version(),
		runtime.NumCPU(), strings.Join(versions, ", "), version("github.com/redis/go-redis/v9"), loadAverage())
}

// versions names each library that is measured, with its release.
func (b *bench) versions() (versions []string) {
	known := map[string]bool{}
	for _, e := range append(b.present(racers()), b.sharers()...) {
		release := b.foreign[e.name].version
		if !e.foreign {
			release = version(e.module)
		}
		module := cmp.Or(e.module, e.name)
		if !known[module] {
			versions = append(versions, e.name+" "+release)
		}
		known[module] = true
	}
	return versions
}

// loadAverage is that of the last minute, where the system tells it.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(load, "unknown")
}

func (p page) pairs(t pairTable) {
	p.line("### Lock and unlock, %s, each its own name\n", goroutines(t.goroutines))
	var rows [][]string
	for _, e := range entrants() {
		runs := t.runs[e.name]
		if len(runs) == 0 {
			continue
		}
		of := func(figure func(pairRun) float64) float64 { return column(runs, figure) }
		rows = append(rows, []string{
			e.name,
			fmt.Sprintf("%.1f", of(pairRun.micros)),
			fmt.Sprintf("%.0f", of(pairRun.perSecond)),
			fmt.Sprintf("%.2f", ratios(runs, t.runs[nameRaw], pairRun.perSecond)),
			fmt.Sprintf("%.1f", of(pairRun.cpuMicros)),
			fmt.Sprintf("%.1f", of(pairRun.serverMicros)),
			figure("%.1f", of(func(r pairRun) float64 { return r.per(r.allocs) })),
			figure("%.0f", of(func(r pairRun) float64 { return r.per(r.bytes) })),
			figure("%.2f", of(func(r pairRun) float64 { return r.per(r.writes) })),
			e.inRedis("%.1f", of(func(r pairRun) float64 { return r.per(float64(r.request.scripts)) })),
			e.inRedis("%.1f", of(func(r pairRun) float64 { return r.per(float64(r.request.others)) })),
		})
	}
	p.table([]string{"", "µs/pair", "pairs/s", "× raw scripts", "own CPU, µs", "server CPU, µs", "allocations", "bytes", "writes", "scripts", "other commands"}, rows)
	for _, e := range entrants() {
		if n := t.stuck[e.name]; n > 0 {
			p.line("%s: %d acquisitions of a free lock did not return within %v; their slices were repeated.\n", e.name, n, patience)
		}
	}
}

// figure writes a number, and a dash for one that nobody can tell.
func figure(format string, value float64) string {
	if math.IsNaN(value) {
		return "–"
	}
	return fmt.Sprintf(format, value)
}

// inRedis writes a number that a Redis counts.
func (e entrant) inRedis(format string, value float64) string {
	if e.onEtcd {
		value = math.NaN()
	}
	return figure(format, value)
}

// inGo writes a number that this process counts.
func (e entrant) inGo(format string, value float64) string {
	if e.foreign {
		value = math.NaN()
	}
	return figure(format, value)
}

func (p page) hot(r results) {
	p.line("### One lock, %d goroutines of one process\n", hotWorkers)
	var rows [][]string
	for _, e := range racers() {
		of := func(figure func(hotRun) float64) float64 { return column(r.hot[e.name], figure) }
		ledgers := r.hotLedgers(e.name)
		if len(ledgers) == 0 {
			continue
		}
		rows = append(rows, append([]string{
			e.name,
			fmt.Sprintf("%.0f", column(ledgers, ledger.perSecond)),
			e.inRedis("%.2f", of(hotRun.scriptsPerCycle)),
			e.inGo("%.2f", of(hotRun.writesPerCycle)),
			fmt.Sprintf("%.1f %%", 100*column(ledgers, ledger.inOrder)),
		}, justiceOf(ledgers)...))
	}
	p.table(append([]string{"", "cycles/s", "scripts/cycle", "writes/cycle", "in order of arrival"}, justiceHead...), rows)
}

func (p page) crossing(runs map[string][]ledger, pingPongs []float64) {
	p.line("### One lock, %d processes of %d goroutines\n", crossProcesses, crossWorkers)
	p.line("Ping-pong, which is publish, delivery and one script between two processes: %.0f µs.\n", median(pingPongs)/1e3)
	var rows [][]string
	for _, e := range racers() {
		if len(runs[e.name]) == 0 {
			continue
		}
		of := func(figure func(ledger) float64) float64 { return column(runs[e.name], figure) }
		crossing := of(func(l ledger) float64 { return median(l.crossings()) })
		rows = append(rows, append([]string{
			e.name,
			fmt.Sprintf("%.0f", of(ledger.perSecond)),
			fmt.Sprintf("%.0f %%", 100*of(ledger.smallestShare)),
			fmt.Sprintf("%.1f %%", of(func(l ledger) float64 { return 100 * float64(len(l.crossings())) / float64(max(len(l.granted()), 1)) })),
			fmt.Sprintf("%.0f", crossing/1e3),
			fmt.Sprintf("%.2f", crossing/median(pingPongs)),
		}, justiceOf(runs[e.name])...))
	}
	p.table(append([]string{"", "cycles/s", "share of the lesser process", "to the other process", "hand-over to it, µs", "× ping-pong"}, justiceHead...), rows)
}

// justiceHead heads the columns that both tables of contention share.
var justiceHead = []string{"mean wait, µs", "longest, ms", "longest ÷ mean", "same, in grants", "starved", "tail, ms", "stranded"}

func justiceOf(runs []ledger) []string {
	of := func(figure func(ledger) float64) float64 { return column(runs, figure) }
	return []string{
		fmt.Sprintf("%.0f", of(func(l ledger) float64 { return mean(l.waits()) / 1e3 })),
		fmt.Sprintf("%.1f", of(func(l ledger) float64 { return longest(l.waits()) / 1e6 })),
		fmt.Sprintf("%.1f", of(ledger.longestToMean)),
		fmt.Sprintf("%.1f", of(ledger.longestToMeanInGrants)),
		fmt.Sprintf("%.0f", of(func(l ledger) float64 { return float64(l.starved()) })),
		fmt.Sprintf("%.1f", of(ledger.tailMillis)),
		fmt.Sprint(total(runs, ledger.stranded)),
	}
}

func (p page) goals(goals []goal) {
	p.line("### Goals\n")
	var rows [][]string
	for _, g := range goals {
		rows = append(rows, []string{g.what, g.wanted(), fmt.Sprintf("%.2f", g.reached), g.verdict(), g.remark})
	}
	p.table([]string{"", "goal", "reached", "", "remark"}, rows)
}

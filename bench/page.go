package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
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

// contest writes the table of one contest. A row without any result is left out.
func (p page) contest(c contest, r results) {
	p.line("### %s\n", c.title)
	if c.note != "" {
		p.line("%s\n", c.note)
	}
	head, rows := []string{""}, [][]string(nil)
	for _, column := range c.columns {
		head = append(head, cmp.Or(column.head, column.figure))
	}
	for _, row := range c.rows {
		if len(r[c.name][row.name]) == 0 {
			continue
		}
		cells := []string{row.name}
		for _, column := range c.columns {
			cells = append(cells, r.cell(cmp.Or(column.contest, c.name), row, column))
		}
		rows = append(rows, cells)
	}
	p.table(head, rows)
	for _, row := range c.rows {
		if n := sum(r.values(c.name, row.name, figureStuck)); n > 0 {
			p.line("%s: %.0f acquisitions of a free lock did not return within %v; their slices were repeated.\n", row.name, n, patience)
		}
	}
}

// cell is one figure of a row, as a column shows it. A figure that nobody can tell is a dash.
func (r results) cell(contest string, row row, c column) string {
	value := r.median(contest, row.name, c.figure)
	switch {
	case c.over:
		value = r.ratio(contest, row.name, row.base, c.figure)
	case c.total:
		value = sum(r.values(contest, row.name, c.figure))
	}
	if strings.HasSuffix(c.format, "%%") {
		value *= 100
	}
	return figure(c.format, value)
}

// figure writes a number, and a dash for one that nobody can tell.
func figure(format string, value float64) string {
	if math.IsNaN(value) {
		return "–"
	}
	return fmt.Sprintf(format, value)
}

func (p page) goals(goals []goal, r results) {
	if len(goals) == 0 {
		return
	}
	p.line("### Goals\n")
	var rows [][]string
	for _, g := range goals {
		g.evaluate(r)
		rows = append(rows, []string{g.what, g.wanted(), figure("%.2f", g.reached), g.verdict(), g.remark})
	}
	p.table([]string{"", "goal", "reached", "", "remark"}, rows)
}

// head says what was measured, with which releases, and on how busy a machine.
func (p page) head(ctx context.Context, b *bench) error {
	text, err := info(ctx, b.server.meter[0])
	if err != nil {
		return err
	}
	p.line("%s, %s, %d cores; %s; go-redis %s. Load average before the run: %s.\n", parseSoftware(text), runtime.Version(),
		runtime.NumCPU(), strings.Join(b.versions(), ", "), version("github.com/redis/go-redis/v9"), loadAverage())
	for _, name := range slices.Sorted(maps.Keys(b.absent)) {
		p.line("%s is not measured: %s.\n", name, b.absent[name])
	}
	return nil
}

// versions names each library that is measured, with its release.
func (b *bench) versions() (versions []string) {
	known := map[string]bool{}
	for _, c := range b.present(append(racers(), node)) {
		release := b.foreign[c.name].version
		if !c.foreign {
			release = version(c.module)
		}
		if !known[c.module] {
			versions = append(versions, c.name+" "+release)
		}
		known[c.module] = true
	}
	return versions
}

// loadAverage is that of the last minute, where the system tells it.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(load, "unknown")
}

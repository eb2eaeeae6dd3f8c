package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The benchmark starts its own program again; in a test that is the test's.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == helperWord {
		if err := help(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.Main(m)
}

// shortPlan is so short that the figures mean nothing. With hundreds of goroutines a rival may hang under
// the race detector.
var shortPlan = plan{levels: []int{1, 16}, times: 0.4, sizes: 0.01, longest: 300 * time.Millisecond}

// mayBeUnknown are figures that some contestants cannot tell, or that need two processes to take turns.
var mayBeUnknown = []string{waited[0].name + ofWaiters, waited[1].name + ofWaiters, waited[0].name + ofProcesses, waited[1].name + ofProcesses, figureToOther, figureHandOver, figureAllocations, figureBytes, figureWrites, figureScripts, figureOthers, figureScriptsEach, figureWritesEach}

// Goal: every part of the benchmark runs, with all its contestants, and no figure is left empty.
// Method: a short plan; what is looked at is that each row of each contest has a number in each column.
// A machine that is starved of CPU may leave a slice empty. That costs an attempt.
func TestEveryContestantGetsFigures(t *testing.T) {
	b := &bench{plan: shortPlan}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for _, only := range []string{"", "scale", "many", "servers"} {
		b.only = only
		var wrong []string
		for range 3 {
			var out strings.Builder
			r, err := b.run(t.Context(), &out)
			if wrong = nil; err != nil {
				wrong = []string{err.Error()}
			} else {
				wrong = b.wrongFigures(r, out.String())
			}
			if only == "" {
				wrong = append(wrong, wrongReplay(r)...)
			}
			if len(wrong) == 0 {
				break
			}
			t.Logf("%d faults:\n%s", len(wrong), out.String())
		}
		for _, what := range wrong {
			t.Error(what)
		}
	}
}

// wrongFigures says what is missing in the results, and which tables are not on the page.
func (b *bench) wrongFigures(r results, page string) (wrong []string) {
	for _, c := range b.chosen() {
		if !strings.Contains(page, "### "+c.title+"\n") {
			wrong = append(wrong, c.name+" has no table")
		}
		for _, row := range c.rows {
			if !strings.Contains(page, "\n| "+row.name+" | ") {
				wrong = append(wrong, fmt.Sprintf("%s is missing in %s", row.name, c.name))
			}
			for i, column := range c.columns {
				value := r.median(c.name, row.name, column.figure)
				unknown := math.IsNaN(value) && (row.name == namePingPong || slices.Contains(mayBeUnknown, column.figure))
				if bad := math.IsNaN(value) || math.IsInf(value, 0) || value <= 0 && i == 0; bad && !unknown {
					wrong = append(wrong, fmt.Sprintf("%s of %s in %s is %v", column.figure, row.name, c.name, value))
				}
			}
		}
	}
	return wrong
}

// Goal: the parts and contestants that the documentation has rows of are there.
func TestContestsHaveTheirRows(t *testing.T) {
	t.Parallel()
	b := &bench{plan: longPlan}
	rows := map[string]int{}
	for _, c := range b.contests() {
		rows[c.name] = len(c.rows)
	}
	for name, want := range map[string]int{
		pairsOf(1): 16, pairsOf(8): 16, pairsOf(64): 16, pairsOf(512): 16, "hot": 9, "crossing": 10, "readers": 2, "shares": 9,
		"permits 1 goroutine": 4, "permits 512 goroutines": 4, "many": 3,
		"growth": 6, "servers": 6,
	} {
		if rows[name] != want {
			t.Errorf("%s has %d rows, want %d", name, rows[name], want)
		}
	}
}

// Goal: the raw scripts are compared with redlatch only as long as they ask the server for the same work.
func wrongReplay(r results) (wrong []string) {
	for _, figure := range []string{figureScripts, figureOthers} {
		raw, ours := r.median(pairsOf(1), nameRaw, figure), r.median(pairsOf(1), nameRedlatch, figure)
		if math.Abs(raw-ours) > 0.5 {
			wrong = append(wrong, fmt.Sprintf("%s a pair: %.1f raw, %.1f of redlatch", figure, raw, ours))
		}
	}
	return wrong
}

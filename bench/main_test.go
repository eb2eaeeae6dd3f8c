package main

import (
	"context"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Goal: every part of the benchmark runs, with all its contestants, and no figure is left empty.
// Method: a plan so short that the figures mean nothing; what is looked at is that they are there.
// A machine that is starved of CPU may leave a slice empty. That costs an attempt.
func TestEveryContestantGetsFigures(t *testing.T) {
	b := &bench{plan: plan{
		levels:     []int{1, 16}, // with hundreds, a rival may hang under the race detector
		pairRounds: 1, hotRounds: 1, crossRounds: 1, shareRounds: 1,
		shareSlice: 200 * time.Millisecond, idleSlice: 500 * time.Millisecond, memory: 100,
		settle:    100 * time.Millisecond,
		practice:  100 * time.Millisecond,
		pairSlice: 20 * time.Millisecond, hotSlice: 300 * time.Millisecond,
		crossSlice: 300 * time.Millisecond, pingPongSlice: 50 * time.Millisecond,
		warmUp: 100 * time.Millisecond,
	}}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var wrong []string
	for range 3 {
		var out strings.Builder
		r, err := b.run(t.Context(), "", &out)
		if err == nil {
			wrong = append(b.wrongTables(out.String()), b.wrongPlots(t, r)...)
		} else {
			wrong = []string{err.Error()}
		}
		if len(wrong) == 0 {
			return
		}
		t.Logf("%d faults:\n%s", len(wrong), out.String())
	}
	for _, what := range wrong {
		t.Error(what)
	}
}

// wrongTables says what is missing in the output of a run.
// pairers are the racers that also take locks that nobody else wants: all without a cohort.
func pairers() []entrant {
	return slices.DeleteFunc(racers(), func(e entrant) bool { return e.name == nameCohort })
}

func (b *bench) wrongTables(page string) (wrong []string) {
	tables := 0
	for table := range strings.SplitSeq(page, "### ") {
		first, _, _ := strings.Cut(table, "\n")
		var wanted []string
		switch {
		case strings.HasPrefix(first, "Lock and unlock"):
			wanted = names(b.present(entrants()))
		case strings.HasPrefix(first, "One lock, redlatch beside"):
			for _, row := range b.shareRows() {
				wanted = append(wanted, row.name())
			}
		case strings.HasPrefix(first, "One lock that is mostly read"):
			wanted = names(readers())
		case strings.HasPrefix(first, "Permits taken"):
			wanted = names(permitEntrants())
		case strings.HasPrefix(first, "One PermitSemaphore"):
			wanted = []string{fmt.Sprintf("%d waiters, %d permits", b.plan.memory, permitsOfMany)}
		case strings.HasPrefix(first, "What a waiter") || strings.HasPrefix(first, "Memory"):
			wanted = names(b.idlers())
		case strings.HasPrefix(first, "One lock"):
			wanted = names(b.present(racers()))
		case first == "In short":
			wanted = names(b.present(pairers()))
		default:
			continue
		}
		tables++
		for _, name := range wanted {
			_, row, found := strings.Cut(table, "\n| "+name+" | ")
			row, _, _ = strings.Cut(row, " |\n")
			if !found {
				wrong = append(wrong, fmt.Sprintf("%s is missing below %q", name, first))
			} else if why := emptyFigures(strings.Split(row, " | "), strings.HasPrefix(first, "What a waiter")); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s below %q: %s in %q", name, first, why, row))
			}
		}
	}
	if want := len(b.plan.levels) + 10; tables != want {
		wrong = append(wrong, fmt.Sprintf("%d tables, want %d", tables, want))
	}
	return wrong
}

func names(entrants []entrant) (names []string) {
	for _, e := range entrants {
		names = append(names, e.name)
	}
	return names
}

// emptyFigures says what is wrong with a row. The first figure is a rate or a time. Of the others
// some may be nothing, such as the number of stranded waits, or a dash. An idle waiter may cost nothing.
func emptyFigures(row []string, idle bool) string {
	for i, figure := range row {
		if figure == "–" && i > 0 {
			continue
		}
		number, err := strconv.ParseFloat(strings.Fields(figure + " ?")[0], 64)
		switch {
		case err != nil || math.IsNaN(number) || math.IsInf(number, 0):
			return fmt.Sprintf("%q is no figure", figure)
		case i == 0 && number <= 0 && !idle:
			return "the first figure is nothing"
		}
	}
	return ""
}

// wrongPlots says what is missing in the images.
func (b *bench) wrongPlots(t *testing.T, r results) (wrong []string) {
	t.Helper()
	dir := t.TempDir()
	if err := r.draw(dir); err != nil {
		return []string{err.Error()}
	}
	for name, wanted := range map[string][]entrant{
		"latency.svg": b.present(pairers()), "fairness.svg": b.present(racers()), "tail.svg": b.present(racers()),
		"wait.svg": b.idlers(), "memory.svg": b.idlers(), "server.svg": b.present(pairers()),
	} {
		image, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = xml.Unmarshal(image, new(struct{}))
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", name, err))
		}
		for _, e := range wanted {
			if !strings.Contains(string(image), ">"+e.name+"</text>") {
				wrong = append(wrong, fmt.Sprintf("%s is missing in %s", e.name, name))
			}
		}
		if strings.Contains(string(image), "NaN") || strings.Contains(string(image), "Inf") {
			wrong = append(wrong, name+" has a point that is nowhere")
		}
	}
	return wrong
}

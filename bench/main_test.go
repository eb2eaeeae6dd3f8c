package main

import (
	"context"
	"fmt"
	"os"
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

// Goal: every part of the benchmark runs, with all its contestants. Method: a plan
// so short that the figures mean nothing; what is looked at is that they are there.
func TestEveryContestantGetsFigures(t *testing.T) {
	b := &bench{plan: plan{
		pairRounds: 1, hotRounds: 1, crossRounds: 1,
		pairSlice: 20 * time.Millisecond, hotSlice: 50 * time.Millisecond,
		crossSlice: 50 * time.Millisecond, floorSlice: 20 * time.Millisecond,
		warmUp: 50 * time.Millisecond,
	}}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	var out strings.Builder
	if err := b.run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for table := range strings.SplitSeq(out.String(), "### ") {
		first, _, _ := strings.Cut(table, "\n")
		wanted := racers()
		switch {
		case strings.HasPrefix(first, "Lock and unlock"):
			wanted = entrants()
		case !strings.HasPrefix(first, "One lock"):
			continue
		}
		for _, e := range wanted {
			if !strings.Contains(table, "\n| "+e.name+" |") {
				t.Errorf("%s is missing below %q", e.name, first)
			}
		}
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// Goal: every figure in the documentation is of a run whose output is in the tree. Method: what stands
// below "Results" has the very rows that the run printed, and all of them.
func TestDocsShowTheRunThatIsKept(t *testing.T) {
	t.Parallel()
	kept, err := os.ReadFile("results/full.md")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(docs), "\n## Results\n")
	got, want := tableRows(shown), tableRows(string(kept))
	if len(want) < 50 {
		t.Errorf("the kept run has %d rows", len(want))
	}
	for row := range got {
		if !want[row] {
			t.Errorf("not a row of the kept run: %s", row)
		}
	}
	for row := range want {
		if !got[row] {
			t.Errorf("the documentation leaves out: %s", row)
		}
	}
}

func tableRows(page string) map[string]bool {
	rows := map[string]bool{}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	return rows
}

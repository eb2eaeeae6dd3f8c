package main

import (
	"context"
	"os"
	"testing"
	"time"
)

// Goal: contestants in other languages and on other servers are measured like the rest. Method: one
// short slice of each kind. A test needs no network, so that it waits for the benchmark to build them.
func TestForeignContestantsGetFigures(t *testing.T) {
	if _, err := os.Stat("java/target/classpath"); err != nil {
		t.Skip("the contestant in Java is not built; make bench does it")
	}
	short := shortPlan
	short.foreign, short.shareSlice = true, 300*time.Millisecond
	b := &bench{plan: short}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	measure := func(what string, figure string, slice func(ctx context.Context, round int) (figures, error)) {
		t.Helper()
		if f, err := slice(t.Context(), 0); err != nil || f[figure] <= 0 {
			t.Errorf("%s: %s is %v, %v", what, figure, f[figure], err)
		}
	}
	for _, c := range b.present(find(nameRedisson, nameEtcd)) {
		measure("pairs of "+c.name, figureServerCPU, b.pairRow(c, 4, false, 200*time.Millisecond).slice)
	}
	for _, c := range b.contests() {
		for _, row := range c.rows {
			switch {
			case c.name == "hot" && (row.name == nameRedisson || row.name == nameEtcd):
				measure("one lock, "+row.name, figureCycles, row.slice)
			case c.name == "crossing" && (row.name == nameRedisson || row.name == nameEtcd):
				measure("two processes, "+row.name, figureHandOver, row.slice)
			case c.name == "shares":
				measure(row.name, figureShareSecond, row.slice)
			}
		}
	}
}

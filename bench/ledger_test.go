package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

// always is a window in which everything counts that these tests make up.
var always = window{0, 1 << 40}

// queue is a ledger of holds one time unit long, granted in the given order, each at its index plus ten.
// Asked are the times of asking.
func queue(asked ...int64) ledger {
	var holds []hold
	for i, a := range asked {
		granted := int64(i + 10)
		holds = append(holds, hold{Worker: i, Asked: a, Granted: granted, Given: granted + 1})
	}
	return newLedger(holds, always)
}

func TestLedgerSeesTwoHoldersAtOnce(t *testing.T) {
	t.Parallel()
	l := queue(0, 1, 2)
	if err := l.exclusive(0); err != nil {
		t.Errorf("one after another: %v", err)
	}
	l.holds[0].Given = l.holds[1].Granted + 1
	if err := l.exclusive(0); err == nil {
		t.Error("an overlap was not seen")
	}
	if err := l.exclusive(time.Second); err == nil {
		t.Error("an overlap in one process was taken for a difference of clocks")
	}
	l.holds[0].Process = 1
	if err := l.exclusive(time.Second); err != nil {
		t.Errorf("a difference of clocks: %v", err)
	}
}

func TestLedgerCountsWhoOvertookNobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		l    ledger
		want float64
	}{
		{"in order", queue(0, 1, 2, 3), 1},
		{"the last came second", queue(0, 3, 1, 2), 0.75},
		{"backwards", queue(3, 2, 1, 0), 0.25},
		{"nobody", queue(), 0},
		{"a later request was overtaken", newLedger([]hold{
			{Worker: 0, Asked: 0, Granted: 10, Given: 11},
			{Worker: 1, Asked: 13, Granted: 14, Given: 15}, // before worker 0, which asked at 12
			{Worker: 0, Asked: 12, Granted: 16, Given: 17},
			{Worker: 0, Asked: 18, Granted: 19, Given: 20},
		}, always), 0.75},
		{"who comes again overtakes nobody", newLedger([]hold{
			{Worker: 0, Asked: 0, Granted: 10, Given: 11},
			{Worker: 1, Asked: 1, Granted: 12, Given: 13},
			{Worker: 0, Asked: 12, Granted: 14, Given: 15},
			{Worker: 1, Asked: 14, Granted: 16, Given: 17},
		}, always), 1},
	} {
		if got := c.l.inOrder(); got != c.want {
			t.Errorf("%s: %v in order, want %v", c.name, got, c.want)
		}
	}
}

// Goal: each figure counts what happened inside the window, who is never served is not left out, a pause of
// the machine is no injustice in grants, and processes are told apart.
func TestLedgerFigures(t *testing.T) {
	t.Parallel()
	starving := []hold{{Worker: 1, Asked: 50, Granted: 250, Given: 251}}
	for i := range int64(30) {
		starving = append(starving, hold{Asked: i*10 + 1, Granted: i*10 + 3, Given: i*10 + 5})
	}
	var shared []hold
	asked := map[int]int64{}
	for i, process := range []int{0, 0, 0, 1, 0, 0, 0, 1} {
		granted := int64(i+1) * 10
		shared = append(shared, hold{Process: process, Asked: asked[process], Granted: granted, Given: granted + 1})
		asked[process] = granted + 1
	}
	for _, c := range []struct {
		name   string
		window window
		holds  []hold
		want   figures
	}{
		{"inside", window{2e9, 3e9}, []hold{
			{Process: 0, Asked: 0, Granted: 1e9, Given: 1.5e9},
			{Process: 1, Asked: 1.8e9, Granted: 2.1e9, Given: 2.2e9}, // waits for 0.1 s inside
			{Process: 0, Asked: 2.3e9, Granted: 2.5e9, Given: 2.6e9}, // 0.2 s
			{Process: 1, Asked: 2.5e9, Granted: 2.9e9, Given: 3.1e9}, // 0.4 s
			{Process: 0, Asked: 2.8e9, Granted: 3.3e9, Given: 3.4e9}, // 0.2 s, then 0.3 s in the tail
			{Process: 1, Asked: 2.95e9, Granted: 3.7e9, Given: 3.8e9},
		}, figures{
			figureCycles: 3, figureMeanWait: 0.95e6 / 5, figureLongest: 400, figureUnfairness: 0.4 * 5 / 0.95,
			figureInOrder: 1, figureToOther: 2. / 3, figureLesserShare: 1. / 3, figureTail: 700, figureStranded: 0, figureStarved: 0,
		}},
		{"one stranded", always, []hold{
			{Worker: 0, Asked: 5, Granted: 10, Given: 11},
			{Worker: 1, Asked: 1, Granted: 101, Given: 101, Stranded: true},
		}, figures{figureStranded: 1, figureServed: 0.5, figureInOrder: 0, figureLongest: 100e-6}},
		{"one starves", window{100, 200}, starving, figures{figureStarved: 1, figureLongest: 100e-6, figureInOrder: 0}},
		{"one process without a grant", window{0, 100}, []hold{{Process: 0, Granted: 10}, {Process: 1, Granted: 300}}, figures{figureLesserShare: 0}},
		{"one process with a quarter", window{0, 90}, shared, figures{
			figureShareSecond: 0.25, figureLongestFirst: 19e-6, figureLongestSecond: 40e-6,
		}},
		{"crossings", always, []hold{
			{Process: 0, Granted: 10, Given: 20}, {Process: 0, Granted: 21, Given: 30},
			{Process: 1, Granted: 37, Given: 40}, {Process: 0, Granted: 45, Given: 50},
		}, figures{figureHandOver: 6e-3, figureToOther: 0.5}},
		{"a pause of the machine", always, []hold{
			{Worker: 0, Asked: 0, Granted: 10, Given: 11}, {Worker: 1, Asked: 1, Granted: 1000, Given: 1001},
			{Worker: 2, Asked: 2, Granted: 1010, Given: 1011}, {Worker: 3, Asked: 1005, Granted: 1020, Given: 1021},
		}, figures{figureUnfairGrants: 2}},
	} {
		got := newLedger(c.holds, c.window).figures()
		for figure, want := range c.want {
			if math.Abs(got[figure]-want) > 1e-6*max(want, 1e-6) {
				t.Errorf("%s: %s is %v, want %v", c.name, figure, got[figure], want)
			}
		}
	}
}

func TestLedgerCountsWaitsInGrants(t *testing.T) {
	t.Parallel()
	if got := queue(0, 1, 2).waitsInGrants(); !slices.Equal(got, []float64{0, 1, 2}) {
		t.Errorf("waits in grants %v, want 0 1 2", got)
	}
}

package main

import (
	"math"
	"testing"
)

// Goal: shares and longest waits are told apart by process, and the worst section decides on a goal.
// Method: the other process gets one of four grants in the one row and half of them in the other, and
// waits for four times as long in the one and as long as ours in the other.
func TestShareGoalsAreOfTheWorstSection(t *testing.T) {
	t.Parallel()
	row := func(processes ...int) shareRow {
		var holds []hold
		asked := map[int]int64{}
		for i, process := range processes {
			granted := int64(i+1) * 10
			holds = append(holds, hold{Process: process, Asked: asked[process], Granted: granted, Given: granted + 1})
			asked[process] = granted + 1
		}
		return shareRow{other: nameRedisson, ledgers: []ledger{newLedger(holds, window{0, int64(len(processes)+1) * 10})}}
	}
	poor, fair := row(0, 0, 0, 1, 0, 0, 0, 1), row(0, 1, 0, 1)
	if got := poor.share(); got != 0.25 {
		t.Errorf("the share is %v, want 0.25", got)
	}
	if ours, theirs := poor.longest(0), poor.longest(1); ours != 19e-6 || theirs != 40e-6 {
		t.Errorf("the longest waits are %v and %v ms, want 19 and 40 ns", ours, theirs)
	}
	for _, rows := range [][]shareRow{{poor, fair}, {fair, poor}} {
		for _, g := range shareGoals(rows) {
			want := map[string]float64{
				"share of Redisson beside redlatch":                      0.25,
				"longest wait of Redisson, × that of redlatch beside it": 40. / 19,
			}[g.what]
			if math.Abs(g.reached-want) > 1e-9 {
				t.Errorf("%s: reached %v, want %v", g.what, g.reached, want)
			}
		}
	}
}

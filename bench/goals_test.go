package main

import (
	"math"
	"testing"
)

// Goal: nothing turns a missed goal into one that need not be reached.
func TestGoalSaysHowItWent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind           func(float64, string, func(results) float64) goal
		limit, reached float64
		want           string
	}{
		{atLeast, 0.85, 0.85, "met"},
		{atLeast, 0.85, 0.84, "**missed**"},
		{atMost, 3, 3, "met"},
		{atMost, 3, 3.01, "**missed**"},
		{atLeast, 1, 0, "**not measured**"},
		{atMost, 3, 0, "**not measured**"},
		{atMost, 1, math.NaN(), "**not measured**"},
	} {
		g := c.kind(c.limit, "", func(results) float64 { return c.reached })
		g.remarks = func(results) string { return "not as just" }
		if g.evaluate(nil); g.verdict() != c.want || g.met() != (c.want == "met") {
			t.Errorf("%s with %v is %q, and met is %v; want %q", g.wanted(), c.reached, g.verdict(), g.met(), c.want)
		}
	}
}

// Goal: a rival that is faster because it is unjust is faster all the same. Method: it makes
// twenty cycles where redlatch makes ten, and one of its waits lasts for nineteen of them.
func TestGoalAgainstAnUnjustRivalIsMissed(t *testing.T) {
	t.Parallel()
	second := window{0, 1e9}
	var just, unjust []hold
	for i := range int64(10) {
		just = append(just, hold{Asked: i * 1e8, Granted: i*1e8 + 1})
	}
	for i := range int64(20) {
		unjust = append(unjust, hold{Asked: i * 5e7, Granted: i*5e7 + 1})
	}
	unjust = append(unjust, hold{Worker: 1, Asked: 0, Granted: 2e9})
	r := results{"hot": {
		nameRedlatch: {newLedger(just, second).figures()}, nameRedsync: {newLedger(unjust, second).figures()},
	}}
	for _, g := range fairness("hot", 3, "") {
		if g.what != "cycles/s, × "+nameRedsync {
			continue
		}
		if g.evaluate(r); g.reached != 0.5 || g.verdict() != "**missed**" || g.remark == "" {
			t.Errorf("got %v, %s, %q; want 0.5, missed, and a remark", g.reached, g.verdict(), g.remark)
		}
		return
	}
	t.Error("there is no such goal")
}

// Goal: the worst section decides on a goal, whatever the order of the sections.
func TestShareGoalsAreOfTheWorstSection(t *testing.T) {
	t.Parallel()
	poor := figures{figureShareSecond: 0.25, figureLongestRatio: 2}
	fair := figures{figureShareSecond: 0.5, figureLongestRatio: 1}
	for _, worstAt := range shareSections {
		rows := map[string][]figures{}
		for _, section := range shareSections {
			rows[shareRow(nameRedisson, section)] = []figures{fair}
		}
		rows[shareRow(nameRedisson, worstAt)] = []figures{poor}
		for _, g := range shareGoals() {
			want, asked := map[string]float64{
				"share of Redisson beside redlatch":                      0.25,
				"longest wait of Redisson, × that of redlatch beside it": 2,
			}[g.what]
			if g.evaluate(results{"shares": rows}); asked && g.reached != want {
				t.Errorf("%s: reached %v, want %v", g.what, g.reached, want)
			}
		}
	}
}

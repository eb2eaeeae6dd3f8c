package main

import (
	"math"
	"testing"
)

// reachedGoal is a goal for which a figure was reached.
func reachedGoal(kind func(float64, string, func(results) float64) goal, limit, reached float64) goal {
	g := kind(limit, "", func(results) float64 { return reached })
	g.evaluate(nil)
	return g
}

// Goal: nothing turns a missed goal into one that need not be reached.
func TestGoalSaysHowItWent(t *testing.T) {
	t.Parallel()
	remarked := reachedGoal(atLeast, 1, 0.5)
	remarked.remark = "not as just"
	for _, c := range []struct {
		goal goal
		want string
	}{
		{reachedGoal(atLeast, 1, 2), "met"},
		{reachedGoal(atLeast, 1, 0.5), "**missed**"},
		{reachedGoal(atLeast, 1, 0), "**not measured**"},
		{reachedGoal(atMost, 1, math.NaN()), "**not measured**"},
		{remarked, "**missed**"},
	} {
		if got := c.goal.verdict(); got != c.want {
			t.Errorf("%v of %v is %q, want %q", c.goal.reached, c.goal.limit, got, c.want)
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

func TestGoalIsMissedOnTheWrongSideAndWithoutFigure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal goal
		met  bool
	}{
		{reachedGoal(atLeast, 0.85, 0.85), true},
		{reachedGoal(atLeast, 0.85, 0.84), false},
		{reachedGoal(atMost, 3, 3), true},
		{reachedGoal(atMost, 3, 3.01), false},
		{reachedGoal(atMost, 3, 0), false},
		{reachedGoal(atLeast, 1, 0), false},
	} {
		if got := c.goal.met(); got != c.met {
			t.Errorf("%s with %v: met is %v, want %v", c.goal.wanted(), c.goal.reached, got, c.met)
		}
	}
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

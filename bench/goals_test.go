package main

import "testing"

// Goal: nothing turns a missed goal into one that need not be reached.
func TestGoalSaysHowItWent(t *testing.T) {
	t.Parallel()
	remarked := atLeast(1, 0.5, "")
	remarked.remark = "not as just"
	for _, c := range []struct {
		goal goal
		want string
	}{
		{atLeast(1, 2, ""), "met"},
		{atLeast(1, 0.5, ""), "**missed**"},
		{atLeast(1, 0, ""), "**not measured**"},
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
	runs := map[string][]ledger{nameRedlatch: {newLedger(just, second)}, nameRedsync: {newLedger(unjust, second)}}
	for _, g := range justice(runs, 3, "") {
		if g.what != "cycles/s, × "+nameRedsync {
			continue
		}
		if g.reached != 0.5 || g.verdict() != "**missed**" || g.remark == "" {
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
		{atLeast(0.85, 0.85, ""), true},
		{atLeast(0.85, 0.84, ""), false},
		{atMost(3, 3, ""), true},
		{atMost(3, 3.01, ""), false},
		{atMost(3, 0, ""), false},
		{atLeast(1, 0, ""), false},
	} {
		if got := c.goal.met(); got != c.met {
			t.Errorf("%s with %v: met is %v, want %v", c.goal.wanted(), c.goal.reached, got, c.met)
		}
	}
}

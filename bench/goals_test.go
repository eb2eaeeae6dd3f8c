package main

import "testing"

func TestGoalSaysHowItWent(t *testing.T) {
	t.Parallel()
	waived := atLeast(1, 0.5, "")
	waived.waived = "not as just"
	for _, c := range []struct {
		goal goal
		want string
	}{
		{atLeast(1, 2, ""), "met"},
		{atLeast(1, 0.5, ""), "**missed**"},
		{atLeast(1, 0, ""), "**not measured**"},
		{waived, "not as just"},
	} {
		if got := c.goal.verdict(); got != c.want {
			t.Errorf("%v of %v is %q, want %q", c.goal.reached, c.goal.limit, got, c.want)
		}
	}
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

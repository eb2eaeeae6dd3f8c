package call_test

import (
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// Goal: a server that told its run_id is not taken for one that does not, as while it executes a script for
// long. Two that never tell are compared by the address.
func TestWhichServersAreTheSame(t *testing.T) {
	t.Parallel()
	who := func(run, address string) call.Identity {
		return call.Identify(driver.Reply{}, driver.Reply{Str: "run_id:" + run + "\r\n"}, address)
	}
	for _, c := range []struct {
		one, other call.Identity
		want       bool
	}{
		{who("a", "1"), who("a", "2"), true}, {who("a", "1"), who("b", "1"), false},
		{who("a", "1"), who("", "1"), false}, {who("a", ""), who("", ""), false},
		{who("", "1"), who("", "1"), true}, {who("", "1"), who("", "2"), false},
	} {
		if c.one.Same(c.other) != c.want || c.other.Same(c.one) != c.want {
			t.Errorf("%+v and %+v are the same: %t", c.one, c.other, !c.want)
		}
	}
}

// Goal: an address that led to another server and back has moved twice, and a new connection to the same server not
// at all.
func TestHowOftenAnAddressHasMoved(t *testing.T) {
	t.Parallel()
	var at call.Identity
	for i, step := range []struct {
		run  string
		want int64
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 3}, {"a", 3}} {
		at = at.Then(call.Identify(driver.Reply{}, driver.Reply{Str: "run_id:" + step.run + "\r\n"}, ""))
		if run, moves := at.RunID(); run != step.run || moves != step.want {
			t.Errorf("connection %d leads to %q after %d moves, want %q after %d", i, run, moves, step.run, step.want)
		}
	}
}

package robustness

import (
	"testing"
	"time"
)

func TestTheTable(t *testing.T) {
	t.Parallel()
	var r report
	r.add([]row{{drill: "second", level: "plain", grants: 25, over: 10 * time.Second, overlaps: 3, gap: 1540 * time.Millisecond}})
	r.add([]row{{drill: "first", level: "fencing", grants: 100, over: 10 * time.Second, fenced: true, reused: 5}})
	want := heading +
		"| first | fencing | 100 | 10 | 0 | 5 | 0.0 s |\n" +
		"| second | plain | 25 | 2 | 3 | – | 1.5 s |\n"
	if got := r.table("first", "second", "third"); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

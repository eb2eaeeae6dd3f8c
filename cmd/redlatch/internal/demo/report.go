package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report is what the counting came to.
type report struct {
	entered    int // how often a worker was inside
	overlaps   int // pairs of workers that were inside at the same time
	completed  int // increments that were written, by workers that lived to say so
	byKilled   int // increments written by workers killed right after it
	killed     int // workers that were killed inside
	found      int64
	lost       int64 // increments that are missing in the counter, on balance
	wrong      int   // how often the counter was found to have another value than it should
	handOvers  []time.Duration
	recoveries []recovery

	renewals  int           // jumps of the TTL that were seen in Redis
	leaseLeft time.Duration // that the worker that was killed had
}

// sound reports whether the lock kept its promises.
func (r report) sound() bool { return r.overlaps == 0 && r.wrong == 0 && r.lost == 0 }

// text is the summary.
func (r report) text() string {
	var text strings.Builder
	for _, l := range [][2]string{
		{"increments", r.increments()},
		{"counter file", r.counterFile()},
		{"overlaps", fmt.Sprintf("%d in %s of the critical section", r.overlaps, plural(r.entered, "visit"))},
		{"hand-over", r.handedOver()},
		{"renewals seen", plural(r.renewals, "jump") + " of the TTL in Redis"},
		{"after the kill", r.recovery()},
	} {
		fmt.Fprintf(&text, "  %-15s %s\n", l[0], strings.ReplaceAll(l[1], "\n", fmt.Sprintf("\n%18s", "")))
	}
	if r.sound() {
		return text.String() + "\nsound: never two inside at once, and every increment counts\n"
	}
	return text.String() + "\nNOT SOUND: the lock did not keep the workers apart\n"
}

func (r report) increments() string {
	switch text := fmt.Sprintf("%d completed", r.completed); {
	case r.killed == 0:
		return text
	case r.byKilled == 0:
		return text + "; the killed worker had not written"
	default:
		return fmt.Sprintf("%s, and %d by the killed worker, which had just written", text, r.byKilled)
	}
}

func (r report) counterFile() string {
	switch {
	case r.lost > 0:
		return fmt.Sprintf("%d: %s LOST", r.found, plural(r.lost, "increment"))
	case r.wrong > 0:
		return fmt.Sprintf("%d, but found with a WRONG value %s", r.found, plural(r.wrong, "time"))
	}
	return fmt.Sprintf("%d: none lost", r.found)
}

// handedOver says what was measured, too: a number means nothing without it.
func (r report) handedOver() string {
	n := len(r.handOvers)
	if n == 0 {
		return "none seen"
	}
	slices.Sort(r.handOvers)
	return fmt.Sprintf("p50 %s, p99 %s, max %s in %s:\none process calls release, another that waits gets the lock\n(wall clock of this machine)",
		millis(r.handOvers[rank(n, 50)]), millis(r.handOvers[rank(n, 99)]), millis(r.handOvers[n-1]), plural(n, "hand-over"))
}

// rank is the index of the smallest of n sorted values that at least p percent do not exceed.
func rank(n, p int) int { return (n*p+99)/100 - 1 }

func (r report) recovery() string {
	switch {
	case r.killed == 0:
		return "no worker was killed in this run"
	case len(r.recoveries) == 0:
		return "the lock did not come back before the end"
	}
	back := r.recoveries[0]
	return fmt.Sprintf("w%d had the lock %.3f s after the kill of w%d,\nwhose lease had %.3f s left", back.heir, back.after.Seconds(), back.killed, r.leaseLeft.Seconds())
}

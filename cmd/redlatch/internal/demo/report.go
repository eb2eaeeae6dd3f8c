package demo

import (
	"fmt"
	"strings"
	"time"
)

// report is what the counting came to.
type report struct {
	Verdict
	ran         time.Duration
	interrupted bool
	renewals    int // jumps of the TTL that were seen in Redis

	// leaseLeft is what the worker that was killed had left of its lease, as Redis
	// had it; 0 if none was killed or the lock came back before it was looked at.
	leaseLeft time.Duration
}

// text is the summary.
func (r report) text(settings Settings) string {
	var text strings.Builder
	how := "ran for"
	if r.interrupted {
		how = "interrupted after"
	}
	fmt.Fprintf(&text, "\n%s %s, %d processes, lease %v, work %v\n\n", how, seconds(r.ran), settings.Workers, settings.Lease, settings.Work)
	for _, l := range [][2]string{
		{"increments", fmt.Sprintf("%d completed%s", r.Completed, r.byKilled())},
		{"counter file", r.counterFile()},
		{"overlaps", fmt.Sprintf("%d in %s of the critical section", r.Overlaps, plural(r.Entered, "visit"))},
		{"hand-over", r.handOver()},
		{"renewals seen", plural(r.renewals, "jump") + " of the TTL in Redis"},
		{"after the kill", r.recovery()},
	} {
		fmt.Fprintf(&text, "  %-15s %s\n", l[0], strings.ReplaceAll(l[1], "\n", fmt.Sprintf("\n%18s", "")))
	}
	if r.Sound() {
		return text.String() + "\nsound: never two inside at once, and every increment counts\n"
	}
	return text.String() + "\nNOT SOUND: the lock did not keep the workers apart\n"
}

func (r report) byKilled() string {
	switch {
	case r.Killed == 0:
		return ""
	case r.ByKilled == 0:
		return "; the killed worker had not written"
	}
	return fmt.Sprintf(", and %d by the killed worker, which had just written", r.ByKilled)
}

func (r report) counterFile() string {
	switch {
	case r.Lost > 0:
		return fmt.Sprintf("%d: %s LOST", r.Counter, plural(r.Lost, "increment"))
	case r.Wrong > 0:
		return fmt.Sprintf("%d, but found with a WRONG value %s", r.Counter, plural(r.Wrong, "time"))
	}
	return fmt.Sprintf("%d: none lost", r.Counter)
}

// handOver says what was measured, too: a number means nothing without it.
func (r report) handOver() string {
	if r.HandOvers == 0 {
		return "none seen"
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s in %s:\none process calls release, another that waits gets the lock\n(wall clock of this machine)",
		millis(r.P50), millis(r.P99), millis(r.Longest), plural(r.HandOvers, "hand-over"))
}

func (r report) recovery() string {
	switch {
	case r.Killed == 0:
		return "no worker was killed in this run"
	case len(r.Recoveries) == 0:
		return "the lock did not come back before the end"
	}
	back := r.Recoveries[0]
	text := fmt.Sprintf("w%d had the lock %.3f s after the kill of w%d", back.Heir, back.After.Seconds(), back.Killed)
	if r.leaseLeft == 0 {
		return text
	}
	later, word := back.After-r.leaseLeft, "after"
	if later < 0 {
		later, word = -later, "before"
	}
	return fmt.Sprintf("%s,\nwhose lease had %.3f s left: %.0f ms %s that", text, r.leaseLeft.Seconds(), 1e3*later.Seconds(), word)
}

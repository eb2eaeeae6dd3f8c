package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is what a run came to.
type Report struct {
	Verdict
	Ran         time.Duration
	Interrupted bool
	Renewals    int // jumps of the TTL that were seen in Redis

	// LeaseLeft is what the worker that was killed had left of its lease, as Redis
	// had it; 0 if none was killed or the lock came back before it was looked at.
	LeaseLeft time.Duration
}

// print writes the summary.
func (r Report) print(out io.Writer, settings Settings) error {
	var text strings.Builder
	how := "ran for"
	if r.Interrupted {
		how = "interrupted after"
	}
	fmt.Fprintf(&text, "\n%s %s, %d processes, lease %v, work %v\n\n", how, seconds(r.Ran), settings.Workers, settings.Lease, settings.Work)
	for _, l := range [][2]string{
		{"increments", fmt.Sprintf("%d completed%s", r.Completed, r.byKilled())},
		{"counter file", r.counterFile()},
		{"overlaps", fmt.Sprintf("%d in %s of the critical section", r.Overlaps, plural(r.Entered, "visit", "visits"))},
		{"hand-over", r.handOver()},
		{"renewals seen", fmt.Sprintf("%s of the TTL in Redis", plural(r.Renewals, "jump", "jumps"))},
		{"after the kill", r.recovery()},
	} {
		fmt.Fprintf(&text, "  %-15s %s\n", l[0], l[1])
	}
	fmt.Fprintf(&text, "\n%s\n", r.conclusion())
	_, err := io.WriteString(out, text.String())
	return err
}

func (r Report) byKilled() string {
	switch {
	case r.Killed == 0:
		return ""
	case r.ByKilled == 0:
		return "; the killed worker had not written"
	}
	return fmt.Sprintf(", and %d by the killed worker, which had just written", r.ByKilled)
}

func (r Report) counterFile() string {
	switch {
	case r.Lost > 0:
		return fmt.Sprintf("%d: %s LOST", r.Counter, plural(int(r.Lost), "increment", "increments"))
	case r.Wrong > 0:
		return fmt.Sprintf("%d, but found with a WRONG value %s", r.Counter, plural(r.Wrong, "time", "times"))
	}
	return fmt.Sprintf("%d: none lost", r.Counter)
}

// handOver says what was measured, too: a number without that is none.
func (r Report) handOver() string {
	if r.HandOvers == 0 {
		return "none seen"
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s in %s:\n  %-15s one process calls release, another that waits gets the lock\n  %-15s (wall clock of this machine)",
		millis(r.P50), millis(r.P99), millis(r.Longest), plural(r.HandOvers, "hand-over", "hand-overs"), "", "")
}

func (r Report) recovery() string {
	switch {
	case r.Killed == 0:
		return "no worker was killed in this run"
	case len(r.Recoveries) == 0:
		return "the lock did not come back before the end"
	}
	back := r.Recoveries[0]
	text := fmt.Sprintf("w%d had the lock %.3f s after the kill of w%d", back.Heir, back.After.Seconds(), back.Killed)
	if r.LeaseLeft > 0 {
		text += fmt.Sprintf(",\n  %-15s whose lease had %.3f s left: %s", "", r.LeaseLeft.Seconds(), later(back.After-r.LeaseLeft))
	}
	return text
}

func later(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("%.0f ms before that", float64(-d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f ms after that", float64(d)/float64(time.Millisecond))
}

func (r Report) conclusion() string {
	if r.Sound() {
		return "sound: never two inside at once, and every increment counts"
	}
	return "NOT SOUND: the lock did not keep the workers apart"
}

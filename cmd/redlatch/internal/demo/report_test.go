package demo

import (
	"strings"
	"testing"
	"time"
)

func TestTheSummarySaysWhatWasFound(t *testing.T) {
	t.Parallel()
	r := report{ran: 15 * time.Second, renewals: 4, leaseLeft: 2400 * time.Millisecond}
	r.Verdict = Verdict{Entered: 221, Completed: 220, Killed: 1, Counter: 220, HandOvers: 214, P50: 410 * time.Microsecond, P99: 2 * time.Millisecond,
		Longest: 3 * time.Millisecond, Recoveries: []Recovery{{Killed: 3, Heir: 2, After: 2402 * time.Millisecond}}}
	want := `
ran for 15.0 s, 4 processes, lease 3s, work 30ms

  increments      220 completed; the killed worker had not written
  counter file    220: none lost
  overlaps        0 in 221 visits of the critical section
  hand-over       p50 0.41 ms, p99 2.00 ms, max 3.00 ms in 214 hand-overs:
                  one process calls release, another that waits gets the lock
                  (wall clock of this machine)
  renewals seen   4 jumps of the TTL in Redis
  after the kill  w2 had the lock 2.402 s after the kill of w3,
                  whose lease had 2.400 s left: 2 ms after that

sound: never two inside at once, and every increment counts
`
	if got := r.text(usual()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheSummaryDoesNotPraiseWhatWentWrong(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*report){
		"interrupted after 2.0 s": func(r *report) { r.interrupted = true },
		"7: 3 increments LOST":    func(r *report) { r.Counter, r.Lost, r.Wrong = 7, 3, 1 },
		"7: 1 increment LOST":     func(r *report) { r.Counter, r.Lost, r.Wrong = 7, 1, 1 },
		"WRONG value 2 times":     func(r *report) { r.Wrong = 2 },
		"  5 in 11 visits":        func(r *report) { r.Overlaps = 5 },
		"none seen":               func(r *report) {},
		"no worker was killed":    func(r *report) {},
		"did not come back":       func(r *report) { r.Killed = 1 },
		"just written":            func(r *report) { r.Killed, r.ByKilled = 1, 1 },
		"30 ms before that": func(r *report) {
			r.Killed, r.leaseLeft, r.Recoveries = 1, time.Second, []Recovery{{After: 970 * time.Millisecond}}
		},
	} {
		r := report{ran: 2 * time.Second, Verdict: Verdict{Entered: 11, Completed: 10, Counter: 10}}
		spoil(&r)
		got := r.text(usual())
		contains(t, got, want)
		if strings.Contains(got, "\nsound") != r.Sound() || strings.Contains(got, "NOT SOUND") == r.Sound() {
			t.Errorf("sound is %v, but it says\n%s", r.Sound(), got)
		}
	}
}

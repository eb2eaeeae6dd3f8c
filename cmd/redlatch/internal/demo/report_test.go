package demo

import (
	"strings"
	"testing"
	"time"
)

func TestTheSummarySaysWhatWasFound(t *testing.T) {
	t.Parallel()
	r := report{
		entered: 221, completed: 220, killed: 1, found: 220, renewals: 4, leaseLeft: 2400 * time.Millisecond,
		recoveries: []recovery{{killed: 3, heir: 2, after: 2402 * time.Millisecond}},
	}
	for n := range time.Duration(200) { // not in order
		r.handOvers = append(r.handOvers, (n*77%200+1)*10*time.Microsecond)
	}
	want := `  increments      220 completed; the killed worker had not written
  counter file    220: none lost
  overlaps        0 in 221 visits of the critical section
  hand-over       p50 1.00 ms, p99 1.98 ms, max 2.00 ms in 200 hand-overs:
                  one process calls release, another that waits gets the lock
                  (wall clock of this machine)
  renewals seen   4 jumps of the TTL in Redis
  after the kill  w2 had the lock 2.402 s after the kill of w3,
                  whose lease had 2.400 s left

sound: never two inside at once, and every increment counts
`
	if got := r.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheSummaryDoesNotPraiseWhatWentWrong(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*report){
		"7: 3 increments LOST": func(r *report) { r.found, r.lost, r.wrong = 7, 3, 1 },
		"7: 1 increment LOST":  func(r *report) { r.found, r.lost, r.wrong = 7, 1, 1 },
		"WRONG value 2 times":  func(r *report) { r.wrong = 2 },
		"  5 in 11 visits":     func(r *report) { r.overlaps = 5 },
		"none seen":            func(r *report) {},
		"no worker was killed": func(r *report) {},
		"did not come back":    func(r *report) { r.killed = 1 },
		"just written":         func(r *report) { r.killed, r.byKilled = 1, 1 },
	} {
		r := report{entered: 11, completed: 10, found: 10}
		spoil(&r)
		got := r.text()
		contains(t, got, want)
		if strings.Contains(got, "\nsound") != r.sound() || strings.Contains(got, "NOT SOUND") == r.sound() {
			t.Errorf("sound is %v, but it says\n%s", r.sound(), got)
		}
	}
}

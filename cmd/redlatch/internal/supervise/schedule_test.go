package supervise

import (
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// Goal: with every lease, every time to end in good order that is allowed, and any process tree, SIGTERM
// comes after the moment of the renewal that would make it needless, and SIGKILL comes
// before the deadline.
func TestAnyScheduleStopsInTimeAndNotTooEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lease := time.Duration(rapid.Int64Range(int64(100*time.Millisecond), int64(24*time.Hour)).Draw(t, "lease"))
		killAfter := time.Duration(rapid.Int64Range(0, int64(lease/2)-1).Draw(t, "killAfter"))
		if err := CheckKillAfter(killAfter, lease); err != nil {
			t.Fatal(err)
		}
		s := newSchedule(lease, killAfter)
		before := s.margin
		walk := time.Duration(rapid.Int64Range(0, int64(lease)).Draw(t, "walk"))
		if s.allow(walk); s.margin < before || s.margin+before/4 < min(before+work(walk), lease/2-killAfter) {
			t.Errorf("a margin of %v, and %v before a walk of %v", s.margin, before, walk)
		}
		s.grow(s.wants(walk), walk)
		if s.lease < lease || s.lease > max(lease, maxLease) || s.lease < maxLease && s.margin < work(walk) {
			t.Errorf("a margin of %v and a lease of %v, for a walk of %v and a lease of %v", s.margin, s.lease, walk, lease)
		}
		lease = s.lease
		asked := time.Now()
		// As the library has it: a margin of 1 % and 2 ms, and a renewal after a third.
		deadline := asked.Add(lease - lease/100 - 2*time.Millisecond)
		term, kill := s.term(deadline), s.kill(deadline)
		if renewal := asked.Add(lease / 3); !term.After(renewal) {
			t.Errorf("SIGTERM after %v, the renewal after %v", term.Sub(asked), renewal.Sub(asked))
		}
		if !kill.Before(deadline) || kill.Sub(term) != killAfter {
			t.Errorf("SIGTERM after %v, SIGKILL after %v, deadline after %v", term.Sub(asked), kill.Sub(asked), deadline.Sub(asked))
		}
		now := asked.Add(time.Duration(rapid.Int64Range(0, int64(lease)).Draw(t, "now")))
		lost := s.killLost(deadline, now)
		if lost.After(kill) || lost.Sub(now) > killAfter || lost.Sub(now) > 2*time.Second {
			t.Errorf("lost after %v: SIGKILL after %v", now.Sub(asked), lost.Sub(asked))
		}
	})
}

func TestATimeToEndInGoodOrderThatLeavesNoneToRenewIsRefused(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{-1, 5 * time.Second, 6 * time.Second} {
		if CheckKillAfter(d, 10*time.Second) == nil {
			t.Errorf("%v of a lease of 10 s was accepted", d)
		}
	}
	for _, lease := range []time.Duration{time.Millisecond, time.Second, 24 * time.Hour} {
		if err := CheckKillAfter(KillAfter(lease), lease); err != nil {
			t.Errorf("the default for a lease of %v: %v", lease, err)
		}
	}
}

// While a machine is suspended its monotonic clock stands still, and the lease in Redis
// does not.
func TestAMomentHasPassedWhenEitherClockSaysSo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	suspended := wallOn(now, time.Minute)
	if suspended.Sub(now) != 0 || suspended.Round(0).Sub(now.Round(0)) != time.Minute {
		t.Fatalf("the clocks were not moved apart: %v, %v", suspended.Sub(now), suspended.Round(0).Sub(now.Round(0)))
	}
	for what, c := range map[string]struct {
		moment, now time.Time
		want        bool
	}{
		"before":                       {now.Add(time.Second), now, false},
		"at the moment":                {now, now, true},
		"after":                        {now.Add(-time.Second), now, true},
		"after, by the wall clock":     {now.Add(time.Second), suspended, true},
		"before, by both":              {now.Add(time.Hour), suspended, false},
		"after, and the wall set back": {now.Add(-time.Second), wallOn(now, -time.Minute), true},
	} {
		if got := passed(c.moment, c.now); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// wallOn is t as a clock shows it whose wall clock alone went on by whole seconds. Such a
// time can only be made by who knows how one is stored.
func wallOn(t time.Time, d time.Duration) time.Time {
	seconds := (*uint64)(unsafe.Pointer(&t)) // from bit 30 on
	*seconds += uint64(int64(d/time.Second)) << 30
	return t
}

// Goal: a machine that is short of time for a moment is not taken for the reason why a hold was not
// renewed. A pause that lasts from the renewal to SIGTERM is.
func TestAShortPauseExplainsNothing(t *testing.T) {
	t.Parallel()
	s := newSchedule(2*time.Second, 400*time.Millisecond)
	asked := time.Now()
	deadline := asked.Add(s.lease)
	if slack := s.term(deadline).Sub(asked.Add(s.lease / 3)); slack < s.slack() || slack > s.slack()+time.Millisecond {
		t.Errorf("the slack is %v, want %v", s.slack(), slack)
	}
}

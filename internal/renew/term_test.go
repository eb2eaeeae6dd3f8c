package renew_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/redlatch/redlatch/internal/renew"
)

// jumped is t as a clock would show it that runs on monotonically but whose wall
// clock was set by d, or went on by d while the machine was suspended. There is no
// other way to make such a time than to know how it is stored.
func jumped(t time.Time, d time.Duration) time.Time {
	type layout struct {
		wall uint64 // 1 bit: has a monotonic part; 33 bits: seconds; 30 bits: nanoseconds
		ext  int64
		loc  *time.Location
	}
	(*layout)(unsafe.Pointer(&t)).wall += uint64(int64(d/time.Second)) << 30
	return t
}

func TestTheTwoClocksOfATimeCanBeMovedApart(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, d := range []time.Duration{0, time.Second, -time.Second, 100 * time.Hour, -100 * time.Hour} {
		later := jumped(now, d)
		if mono, wall := later.Sub(now), later.Round(0).Sub(now.Round(0)); mono != 0 || wall != d {
			t.Fatalf("jumped by %v: %v on the monotonic clock and %v on the wall", d, mono, wall)
		}
	}
}

func TestADeadlineLiesAMarginBeforeTheEndOfTheLease(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	for lease, want := range map[time.Duration]time.Duration{
		10 * time.Millisecond: 7900 * time.Microsecond,
		time.Second:           988 * time.Millisecond,
		30 * time.Second:      29698 * time.Millisecond,
		time.Hour:             time.Hour - 36*time.Second - 2*time.Millisecond,
	} {
		if got := (renew.Term{Asked: asked, Lease: lease}).Deadline().Sub(asked); got != want {
			t.Errorf("a lease of %v is trusted for %v, want %v", lease, got, want)
		}
	}
}

func TestATermIsOverFromItsDeadlineOnByEitherClock(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	term := renew.Term{Asked: asked, Lease: 30 * time.Second}
	const deadline = 29698 * time.Millisecond
	for what, c := range map[string]struct {
		passed, jump time.Duration
		over         bool
	}{
		"at once":                                 {0, 0, false},
		"a moment before":                         {deadline - 1, 0, false},
		"exactly then":                            {deadline, 0, true},
		"a moment after":                          {deadline + 1, 0, true},
		"long after":                              {time.Hour, 0, true},
		"asked in the future":                     {-time.Second, 0, false},
		"suspended for less than the rest":        {time.Second, 28 * time.Second, false},
		"suspended for longer":                    {time.Second, 29 * time.Second, true},
		"suspended for a night":                   {0, 12 * time.Hour, true},
		"wall clock set back":                     {time.Second, -time.Hour, false},
		"wall clock set back, a moment before":    {deadline - 1, -time.Hour, false},
		"wall clock set back, and the time is up": {deadline, -time.Hour, true},
		"wall clock set a year back, long after":  {time.Hour, -8760 * time.Hour, true},
	} {
		if got := term.Over(jumped(asked.Add(c.passed), c.jump)); got != c.over {
			t.Errorf("%s: over is %v", what, got)
		}
	}
	if wall := asked.Round(0); !term.Over(wall.Add(deadline)) || term.Over(wall.Add(deadline-1)) {
		t.Error("a time without a monotonic clock is not compared by the wall clock")
	}
}

func TestTheNextEventIsTheRenewalOrForAFixedLeaseTheDeadline(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	for what, c := range map[string]struct {
		lease, every, want time.Duration
	}{
		"renewed":        {30 * time.Second, 10 * time.Second, 10 * time.Second},
		"the shortest":   {10 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond},
		"fixed":          {30 * time.Second, 0, 29698 * time.Millisecond},
		"negative every": {30 * time.Second, -1, 29698 * time.Millisecond},
	} {
		term := renew.Term{Asked: asked, Lease: c.lease, Every: c.every}
		if got := term.Next().Sub(asked); got != c.want {
			t.Errorf("%s: next after %v, want %v", what, got, c.want)
		}
	}
}

// The watchdog service takes intervals from the records of others.
func TestTheNextEventIsNeverLaterThanTheDeadline(t *testing.T) {
	t.Parallel()
	for _, every := range []time.Duration{9889 * time.Millisecond, 10 * time.Second, time.Hour} {
		term := renew.Term{Asked: time.Now(), Lease: 10 * time.Second, Every: every}
		if late := term.Next().Sub(term.Deadline()); late > 0 {
			t.Errorf("renewed every %v: the next event comes %v after the deadline", every, late)
		}
	}
}

func TestRetriesPauseForASixteenthOfTheTimeLeft(t *testing.T) {
	t.Parallel()
	term := renew.Term{Asked: time.Now(), Lease: time.Hour, Every: time.Minute}
	for left, want := range map[time.Duration]time.Duration{
		59 * time.Minute:       time.Second,
		16 * time.Second:       time.Second,
		8 * time.Second:        500 * time.Millisecond,
		160 * time.Millisecond: 10 * time.Millisecond,
		80 * time.Millisecond:  5 * time.Millisecond,
		40 * time.Millisecond:  5 * time.Millisecond,
		3 * time.Millisecond:   3 * time.Millisecond,
		0:                      0,
		-time.Second:           0,
	} {
		now := term.Deadline().Add(-left)
		if got := term.Retry(now).Sub(now); got != want {
			t.Errorf("with %v left the next attempt comes after %v, want %v", left, got, want)
		}
	}
}

func TestRetriesCrowdTowardsTheDeadlineWithoutBecomingAStorm(t *testing.T) {
	t.Parallel()
	term := renew.Term{Asked: time.Now(), Lease: 30 * time.Second, Every: 10 * time.Second}
	attempts := 0
	now := term.Next()
	pause := time.Hour
	for now.Before(term.Deadline()) {
		next := term.Retry(now)
		if d := next.Sub(now); d > pause || d <= 0 {
			t.Fatalf("attempt %d pauses %v after a pause of %v", attempts, d, pause)
		}
		pause = next.Sub(now)
		now, attempts = next, attempts+1
	}
	if now != term.Deadline() {
		t.Errorf("the last attempt is planned for %v after the deadline", now.Sub(term.Deadline()))
	}
	if attempts < 50 || attempts > 150 {
		t.Errorf("%d attempts within one lease", attempts)
	}
}

func TestAnAttemptMayTakeHalfOfTheTimeLeft(t *testing.T) {
	t.Parallel()
	term := renew.Term{Asked: time.Now(), Lease: 30 * time.Second, Every: 10 * time.Second}
	for left, want := range map[time.Duration]time.Duration{
		27 * time.Second:       27 * time.Second / 2,
		300 * time.Millisecond: 150 * time.Millisecond,
		15 * time.Millisecond:  7500 * time.Microsecond,
		9 * time.Millisecond:   5 * time.Millisecond,
		0:                      5 * time.Millisecond,
		-time.Minute:           5 * time.Millisecond,
	} {
		if got := term.Patience(term.Deadline().Add(-left)); got != want {
			t.Errorf("with %v left an attempt may take %v, want %v", left, got, want)
		}
	}
}

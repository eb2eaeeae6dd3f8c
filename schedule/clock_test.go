package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

// Goal: a lock that is granted too late runs nothing: another machine may have run the job meanwhile.
func TestALateGrantRunsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		m := f.machines[0]
		m.lock = s.Client(redlatch.Config{CommandTimeout: 20 * time.Second, ReleaseTimeout: 20 * time.Second}).Mutex("job")
		f.start(t)
		s.Delay(7 * time.Second)
		time.Sleep(2*time.Minute + 50*time.Second)
		if missed := m.seen(schedule.Missed); len(f.runs()) > 0 || len(missed) != 2 {
			t.Errorf("%d runs, and missed: %+v", len(f.runs()), missed)
		}
	})
}

// Goal: a clock that is set back a little, while the job runs, is not told as another machine.
func TestASmallCorrectionOfTheClockIsNoEvent(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, time.Second).start(t)
		m := f.machines[0]
		time.Sleep(time.Minute + 500*time.Millisecond)
		m.skew.Store(int64(-2 * time.Second))
		time.Sleep(5 * time.Minute)
		if other := m.seen(schedule.Elsewhere); len(other) > 0 {
			t.Errorf("left to another machine: %+v", other)
		}
		f.once(t, 5)
	})
}

// Goal: no machine runs a time again after its clock was set back by more than AtLeast, and the fleet runs every time.
// A time that was run with a clock ahead is not awaited either.
func TestAClockThatIsSetBackRunsNoTimeAgain(t *testing.T) {
	for machines := range 3 {
		t.Run(fmt.Sprint(machines+1), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				f := newFleet(s, machines+1, time.Millisecond).start(t)
				m := f.machines[machines]
				time.Sleep(15*time.Minute + 30*time.Second)
				m.skew.Store(int64(-5 * time.Minute))
				time.Sleep(15 * time.Minute)
				want := 30
				if machines == 0 {
					want = 25 // its clock shows the minutes 11 to 15 once more
				}
				f.once(t, want)
				told := map[time.Time]int{}
				for _, e := range append(m.seen(schedule.Ran), m.seen(schedule.Elsewhere)...) {
					if told[e.Due]++; told[e.Due] > 1 {
						t.Errorf("told twice: %+v", e)
					}
				}
			})
		})
	}
}

// Goal: a job runs although Redis refuses to note its times, and its events say so.
func TestAJobRunsAlthoughItsTimesAreNotNoted(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		if err := s.Miniredis().Set("redlatch:ran:{job}", "somebody's"); err != nil {
			t.Fatal(err)
		}
		f := newFleet(s, 2, 0).start(t)
		time.Sleep(5*time.Minute + time.Second)
		f.once(t, 5)
		for _, m := range f.machines {
			for _, e := range m.seen(schedule.Ran) {
				if !errors.Is(e.Err, redlatch.ErrWrongType) {
					t.Errorf("a run: %+v", e)
				}
			}
		}
	})
}

// Goal: expressions of cron without a zone mean the same on machines in several zones, and no hour of
// summer time is skipped or repeated.
func TestTimesAreAskedForInUTC(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		f.machines[0].times = local{}
		zone := time.FixedZone("", 2*60*60)
		ctx, stop := context.WithTimeout(t.Context(), 28*time.Hour)
		defer stop()
		clock := func() time.Time { return time.Now().In(zone) }
		_ = schedule.RunWithClock(ctx, clock, f.machines[0].lock, local{}, f.machines[0].job)
		for _, due := range f.runs() {
			if due.UTC().Hour() != 3 {
				t.Errorf("the job that is due at 3:00 ran at %v", due.UTC())
			}
		}
		f.once(t, 2)
	})
}

// local is 3:00 each day in the zone of the time that it is asked with, as a schedule of robfig/cron without a zone.
type local struct{}

func (local) Next(t time.Time) time.Time {
	next := time.Date(t.Year(), t.Month(), t.Day(), 3, 0, 0, 0, t.Location())
	for !next.After(t) {
		next = next.AddDate(0, 0, 1)
	}
	return next
}

func TestAtLeastDoesNotReachTheNextRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 2, 0)
		for _, m := range f.machines {
			m.job.AtLeast, m.times = time.Hour, schedule.Every(15*time.Second)
		}
		f.start(t)
		time.Sleep(10*time.Minute + time.Second)
		f.once(t, 40)
	})
}

// Goal: a clock that is set while the machine sleeps is noticed within a minute.
func TestAClockThatIsSetIsNoticed(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		m := f.machines[0]
		m.times = schedule.Every(24 * time.Hour)
		f.start(t)
		time.Sleep(10 * time.Minute)
		m.skew.Store(int64(23 * time.Hour))
		time.Sleep(51 * time.Minute)
		if ran := m.seen(schedule.Ran); len(ran) != 1 || ran[0].Late > time.Second {
			t.Errorf("the runs: %+v", ran)
		}
	})
}

// A panic of a job reaches the caller, after the release.
func TestAPanicReachesTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		m := newFleet(s, 1, 0).machines[0]
		var hold *redlatch.Hold
		m.job.Do = func(_ context.Context, _ time.Time, h *redlatch.Hold) error {
			hold = h
			panic("job")
		}
		func() {
			defer func() {
				if got := recover(); got != "job" {
					t.Error("Run panicked with", got)
				}
			}()
			_ = schedule.Run(t.Context(), m.lock, m.times, m.job)
		}()
		if hold.Err() == nil {
			t.Error("the lock is not released")
		}
		if !slices.Contains(s.Miniredis().Keys(), "job") {
			t.Error("the lock is not kept for AtLeast")
		}
	})
}

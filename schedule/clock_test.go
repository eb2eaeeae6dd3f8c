package schedule_test

import (
	"context"
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

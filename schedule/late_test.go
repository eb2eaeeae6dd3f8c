package schedule_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

// Goal: an observer that takes longer than the time between two runs does not keep the job from running, and Run
// ends with its context.
func TestASlowObserverCostsNoMoreThanItsTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		m := f.machines[0]
		m.times = schedule.Every(10 * time.Second)
		observe := m.job.Observe
		m.job.Observe = func(e schedule.Event) { observe(e); time.Sleep(15 * time.Second) }
		f.start(t)
		time.Sleep(61 * time.Second)
		allow := s.Deny()
		time.Sleep(time.Minute)
		allow()
		before := len(f.runs())
		time.Sleep(10 * time.Minute)
		if after := len(f.runs()) - before; after < 8 { // two events of 15 s each, and up to 10 s until the next time
			t.Errorf("%d runs in ten minutes after an outage: %+v", after, m.seen(schedule.Missed))
		}
		for i, e := range m.seen(schedule.Missed)[1:] {
			if before := m.seen(schedule.Missed)[i]; e.Due.Before(before.Until) {
				t.Errorf("missed twice: %+v and %+v", before, e)
			}
		}
		m.stop()
		ended := time.Now()
		if err := <-m.done; err == nil || time.Since(ended) > 30*time.Second {
			t.Errorf("Run returned %v, %v after the end of its context", err, time.Since(ended))
		}
		m.done <- nil
	})
}

// Goal: a lock that was granted too late to run one time is not kept from the next one.
func TestALateGrantDoesNotCostTheNextTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		f := newFleet(s, 1, 0)
		m := f.machines[0]
		m.times = schedule.Every(4 * time.Second)
		f.start(t)
		time.Sleep(7 * time.Second) // ran at 4
		s.Delay(2800 * time.Millisecond)
		time.Sleep(3700 * time.Millisecond)
		s.Delay(0)
		time.Sleep(6 * time.Second)
		if missed := m.seen(schedule.Missed); len(missed) != 1 {
			t.Errorf("missed: %+v", missed)
		}
		if other := m.seen(schedule.Elsewhere); len(other) > 0 {
			t.Errorf("left to another machine: %+v", other)
		}
		f.once(t, 3)
	})
}

// Goal: two schedules under one owner (Client.WithOwner) run each time once. Re-entry would run it twice.
func TestOneOwnerRunsEachTimeOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		f := newFleet(s, 2, 20*time.Second)
		for _, m := range f.machines {
			m.lock = client.Mutex("job")
		}
		shared := client.WithOwner(t.Context())
		for _, m := range f.machines {
			m.startUnder(t, shared)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		f.once(t, 5)
	})
}

package schedule_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

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

package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/schedule"
)

// Goal: each time is told once, however near the times are, and however the clock jumps forward.
func TestEachTimeOfAMachineIsToldOnce(t *testing.T) {
	for seed := range 10 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				f := newFleet(s, 1, time.Duration(r.IntN(3000))*time.Millisecond)
				m := f.machines[0]
				var times list
				at := time.Now()
				for range 100 {
					at = at.Add(time.Duration(1+r.IntN([]int{300, 3000, 40000}[r.IntN(3)])) * time.Millisecond)
					times = append(times, at)
				}
				m.times = append(slices.Clone(times), at.Add(24*time.Hour))
				m.job.AtLeast = time.Duration(1+r.IntN(30)) * time.Second
				f.start(t)
				now := func() time.Time { return time.Now().Add(time.Duration(m.skew.Load())) }
				for !now().After(at.Add(2 * time.Minute)) {
					time.Sleep(time.Duration(r.IntN(60000)) * time.Millisecond)
					if r.IntN(2) == 0 {
						m.skew.Add(int64(r.IntN(20000)) * int64(time.Millisecond))
					}
					if r.IntN(3) == 0 {
						thaw := s.Freeze()
						time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond)
						thaw()
					}
				}
				time.Sleep(time.Minute)
				told := map[time.Time]int{}
				m.mu.Lock()
				defer m.mu.Unlock()
				for _, e := range m.events {
					if e.Kind != schedule.Missed {
						told[e.Due.UTC()]++
						continue
					}
					for _, one := range times {
						if !one.Before(e.Due) && one.Before(e.Until) {
							told[one.UTC()]++
						}
					}
				}
				for n, one := range times {
					if told[one.Round(0).UTC()] != 1 {
						t.Errorf("time %d, %v, was told %d times", n, one, told[one.Round(0).UTC()])
					}
				}
			})
		})
	}
}

// Goal: no time is run twice, and no two at a time, while the clocks differ by less than half of AtLeast
// and Redis answers late.
func TestNoTimeIsRunTwiceByLateMachines(t *testing.T) { lateMachines(t, 0, 3) }

// Goal: the same, from more seeds.
func TestLongNoTimeIsRunTwiceByLateMachines(t *testing.T) { lateMachines(t, 3, 10) }

// lateMachines plays the stories of the seeds from one up to another.
func lateMachines(t *testing.T, from, to int) {
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				r := rand.New(rand.NewPCG(uint64(seed), 2))
				f := newFleet(s, 3, time.Duration(r.IntN(3000))*time.Millisecond)
				for _, m := range f.machines {
					m.times, m.job.AtLeast = schedule.Every(20*time.Second), 10*time.Second
					m.skew.Store(int64(r.IntN(4999)) * int64(time.Millisecond))
				}
				time.Sleep(10 * time.Second)
				f.start(t)
				for range 50 {
					time.Sleep(time.Duration(r.IntN(12000)) * time.Millisecond)
					thaw := s.Freeze()
					s.Delay(time.Duration(r.IntN(2500)) * time.Millisecond)
					time.Sleep(time.Duration(r.IntN(7000)) * time.Millisecond)
					thaw()
				}
				runs := f.runs()
				if len(slices.Compact(slices.Clone(runs))) != len(runs) || len(runs) == 0 {
					t.Errorf("a time was run twice, or none was run: %v", runs)
				}
				if n := f.together(); n > 1 {
					t.Errorf("%d runs at a time", n)
				}
			})
		})
	}
}

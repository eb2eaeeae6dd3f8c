package fair_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// TestSurvivorsAreServedInOrderWhileOthersDieAndGiveUp lets forty waiters of four clients
// queue at random moments. Some give up, and two of the clients die on the way: nothing
// that they send arrives any more, be they waiting or holding. The model is the list of
// arrivals without those who are gone.
func TestSurvivorsAreServedInOrderWhileOthersDieAndGiveUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { queueBadly(t, s, seed) })
		})
	}
}

// mortal is a client of its own driver, which can be cut off for good.
type mortal struct {
	*redlatch.Client
	driver *stage.Tap
}

func (m mortal) die() { m.driver.Spoil(func([]string) stage.Fate { return stage.Lost }) }

// doomedWaiter is one that waits for the fair lock "job". end lets it go, dead or not.
func doomedWaiter(s *stage.Stage) (doomed mortal, end func()) {
	s.Helper()
	d := &stage.Tap{Driver: s.Memory}
	doomed = mortal{s.On(d, redlatch.Config{}), d}
	waiting, cancel := context.WithCancel(s.Context())
	go func() { _, _ = doomed.FairMutex("job").Lock(waiting) }()
	synctest.Wait()
	return doomed, func() {
		cancel()
		d.Spoil(nil)
	}
}

func queueBadly(t *testing.T, s *stage.Stage, seed uint64) {
	roll := stage.Dice(seed)
	var clients []mortal
	for range 4 {
		d := &stage.Tap{Driver: s.Memory}
		clients = append(clients, mortal{s.On(d, redlatch.Config{}), d})
	}
	run := &fairRun{t: t}
	var all sync.WaitGroup
	for i := range 40 {
		c := clients[roll(4)]
		var opts []redlatch.LockOption
		if roll(4) == 0 {
			opts = append(opts, redlatch.WithWait(time.Duration(1+roll(3000))*time.Millisecond))
		}
		work := time.Duration(roll(400)) * time.Millisecond
		all.Go(func() {
			if h, err := c.FairMutex("job").Lock(t.Context(), opts...); err == nil {
				run.visit(i, h, work)
			}
		})
		synctest.Wait()
		time.Sleep(time.Duration(roll(100)) * time.Millisecond)
		if i == 15 || i == 30 {
			clients[i/15].die()
		}
	}
	all.Wait()
	if !slices.IsSorted(run.served) {
		t.Errorf("served in the order %v", run.served)
	}
	if len(run.served) < 10 {
		t.Errorf("only %d were served: the test tests too little", len(run.served))
	}
	for _, c := range clients {
		c.driver.Spoil(nil)
	}
	time.Sleep(time.Minute)
	h := check.Must(clients[0].FairMutex("job").Lock(t.Context())) // passes over the dead
	_ = h.Unlock(t.Context())
	if keys := s.Memory.Miniredis().Keys(); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
}

// fairRun notes who was served, and fails if two are inside.
type fairRun struct {
	t      *testing.T
	mu     sync.Mutex
	served []int
	inside int
}

// visit stays inside until its work is done, or its process is cut off.
func (run *fairRun) visit(i int, h *redlatch.Hold, work time.Duration) {
	run.mu.Lock()
	run.served = append(run.served, i)
	if run.inside++; run.inside > 1 {
		run.t.Errorf("%d are inside", run.inside)
	}
	run.mu.Unlock()
	select {
	case <-time.After(work):
	case <-h.Done():
	}
	run.mu.Lock()
	run.inside--
	run.mu.Unlock()
	_ = h.Unlock(run.t.Context())
}

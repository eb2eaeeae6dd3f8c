package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: nobody overlaps whatever goes wrong, no error comes that is not documented, and in the end nothing is left.
// Method: workers of three processes contend, two of them for each owner. A third of all requests or replies is
// lost, waits are short, contexts end, and one of the processes is closed again and again. An overlap is two workers
// between Lock and Unlock that the kind does not let in together.
func TestNobodyOverlapsWhileEverythingGoesWrong(t *testing.T) { contend(t, 1) }

func TestLongNobodyOverlapsWhileEverythingGoesWrong(t *testing.T) { contend(t, 3) }

func contend(t *testing.T, rounds int) {
	t.Parallel()
	for _, k := range scene.Kinds {
		for range redistest.Stretch(rounds) {
			seed := rand.Uint64()
			t.Run(fmt.Sprintf("%s/seed %d", k.Name, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					scene.Open(t, k, 3, redlatch.Config{}, func(s *scene.Scene) { contendBadly(s, seed) })
				})
			})
		}
	}
}

// guest is who has a hold, and how it was taken.
type guest struct {
	owner int
	way   scene.Way
}

// contest is one run: who is inside, and how many have been.
type contest struct {
	*scene.Scene
	roll      func(n int) int
	processes [3]atomic.Pointer[scene.Process] // the last one is closed now and then

	mu      sync.Mutex
	inside  map[*redlatch.Hold]guest
	entered int
}

func contendBadly(s *scene.Scene, seed uint64) {
	c := &contest{Scene: s, roll: stage.Dice(seed), inside: make(map[*redlatch.Hold]guest)}
	s.Spoil(func() func([]string) stage.Fate { return stage.LosesOneOf(3, c.roll) })
	for i := range c.processes {
		c.processes[i].Store(s.Other(redlatch.Config{}))
	}
	const workers, visits = 12, 15
	var all sync.WaitGroup
	for owner := range workers / 2 {
		below := s.Context()
		if owner%3 < 2 {
			below = c.processes[owner%3].Load().Owner()
		}
		for range 2 {
			all.Go(func() {
				for range visits {
					c.visit(c.processes[owner%3].Load(), below, owner)
				}
			})
		}
	}
	all.Go(func() {
		for range 5 {
			time.Sleep(time.Duration(c.roll(3000)) * time.Millisecond)
			_ = c.processes[2].Swap(s.Other(redlatch.Config{})).Close() // what it cannot release expires
		}
	})
	all.Wait()
	if c.entered < workers*visits/30 {
		s.Errorf("only %d entered: the test tests too little", c.entered)
	}
}

// visit is inside for a while, and now and then twice.
func (c *contest) visit(p *scene.Process, below context.Context, owner int) {
	ctx, cancel := context.WithTimeout(below, time.Duration(1+c.roll(3000))*time.Millisecond)
	defer cancel()
	l, way := p.Lock, c.Lock
	if c.roll(4) == 0 {
		l, way = p.Rival, c.Rival
	}
	holds := c.enter(ctx, nil, l, way, owner)
	if holds != nil && c.CanReenter() && below != c.Context() && c.roll(2) == 0 {
		holds = c.enter(ctx, holds, p.Inside, c.Inside, owner)
	}
	if c.roll(2) == 0 {
		slices.Reverse(holds)
	}
	for _, h := range holds {
		c.mu.Lock()
		delete(c.inside, h.Hold)
		c.mu.Unlock()
		if below != c.Context() && !h.Valid() {
			c.Error("a hold was lost:", h.Err())
		}
		c.expect("Unlock", h.Unlock(ctx), redlatch.ErrUnknownOutcome)
	}
}

// enter notes a hold if it is granted, and fails if it is granted beside another one that excludes it.
func (c *contest) enter(ctx context.Context, holds []scene.Taken, l redlatch.Lock, way scene.Way, owner int) []scene.Taken {
	h, err := l.Lock(ctx, c.options()...)
	if err != nil { // a deadline is the bound of one command
		c.expect("Lock", err, redlatch.ErrNotAcquired, redlatch.ErrUnknownOutcome, redlatch.ErrUpgrade, redlatch.ErrClosed, context.DeadlineExceeded)
		return holds
	}
	c.mu.Lock()
	var others []scene.Taken
	for other, by := range c.inside {
		if (by.owner != owner || owner%3 == 2 || c.Sort == scene.Cohort) && other.Valid() {
			others = append(others, scene.Taken{Hold: other, Way: by.way})
		}
	}
	if h.Valid() && c.Refused(way, nil, others) != nil {
		c.Errorf("%v entered beside %v", h, others)
	}
	c.inside[h] = guest{owner, way}
	c.entered++
	c.mu.Unlock()
	pause := c.roll(50)
	if c.roll(50) == 0 {
		pause = 12_000
	}
	time.Sleep(time.Duration(pause) * time.Millisecond)
	return append(holds, scene.Taken{Hold: h, Way: way})
}

// options are those that most kinds keep.
func (c *contest) options() []redlatch.LockOption {
	switch n := c.roll(6); {
	case c.Sort == scene.Cohort:
	case n == 0 && c.Lock.HasOwner():
		return []redlatch.LockOption{redlatch.WithFencing()}
	case n == 1:
		return []redlatch.LockOption{redlatch.WithLease(40 * time.Second)}
	case n == 2:
		return []redlatch.LockOption{redlatch.WithMaxHold(40 * time.Second)}
	}
	return nil
}

// expect fails for an error that matches none of those that may be.
func (c *contest) expect(what string, err error, allowed ...error) {
	is := func(target error) bool { return errors.Is(err, target) }
	if err != nil && !slices.ContainsFunc(allowed, is) {
		c.Errorf("%s: %v", what, err)
	}
}

// Package product_test chooses everything at once: options, kinds, owners, cohorts, faults, and the ends of processes.
package product_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Goal: what is promised of each option stays true when it meets any other, of any kind, in any weather. Method:
// actors of three processes carry out a random plan, in fake time. All the time holds exclude each other, errors
// are those that the options allow, calls take no longer than they may, and tokens grow. In the end Redis keeps
// nothing for longer than somebody asked for, every lock is free, and nobody has asked all the time.
func TestAnythingGoesWithAnything(t *testing.T) { inFakeTime(t, 12) }

func TestLongAnythingGoesWithAnything(t *testing.T) { inFakeTime(t, 50) }

func inFakeTime(t *testing.T, rounds int) {
	t.Parallel()
	plans(t, rounds, fake, func(s setting, plan []*visit) (failed error) {
		synctest.Test(t, func(t *testing.T) {
			failed = s.run(t, s.fakeServers(t), plan)
			time.Sleep(time.Minute) // for what is late
		})
		return failed
	})
}

// Goal and method: the same on real goroutines, connections and servers, whose interleavings fake time does not have.
func TestAnythingGoesOnRealServers(t *testing.T) { onRealServers(t, 4) }

func TestLongAnythingGoesOnRealServers(t *testing.T) { onRealServers(t, 40) }

func onRealServers(t *testing.T, rounds int) {
	t.Parallel()
	servers := realServers(t)
	plans(t, rounds, really, func(s setting, plan []*visit) (failed error) {
		t.Run("plan", func(t *testing.T) { // its proxies end with it
			for _, one := range servers {
				one.Do(context.Background(), driver.Command{Words: []string{"FLUSHALL"}})
			}
			failed = s.run(t, servers, plan)
		})
		return failed
	})
}

// plans draws settings and their plans.
func plans(t *testing.T, rounds int, u scale, run func(s setting, plan []*visit) error) {
	var s setting
	redistest.Plans(t, rounds,
		func(random *rand.Rand) []*visit { s = draw(random, u); return s.plan(random) },
		func(plan []*visit) error { return run(s, plan) })
}

// run carries out a plan on servers that are empty.
func (s setting) run(t testing.TB, servers []server, plan []*visit) error {
	ctx, cancel := context.WithTimeout(context.Background(), 200*s.unit.long)
	defer cancel()
	b := &books{
		setting: s, limit: ctx, cancel: cancel, calls: map[*call]bool{}, tokens: map[string]int64{},
		forced: map[string]time.Time{}, recalls: map[string]bool{}, inUse: map[string]int{}, free: map[string]time.Time{}, bases: map[string]time.Time{},
	}
	w := &world{books: b, TB: t, ctx: ctx, servers: servers, roll: stage.Dice(s.Seed), over: make(chan struct{})}
	if s.unit.real && s.Weather == lossy {
		w.retired.Go(w.disturb)
	}
	w.act(plan)
	if ctx.Err() != nil {
		w.fail("the run did not end")
	}
	w.cost()
	w.verified()
	w.remains()
	if !s.unit.real && w.failure == nil {
		w.rest()
	}
	if w.failure != nil {
		return fmt.Errorf("%w\n%v", w.failure, s)
	}
	return nil
}

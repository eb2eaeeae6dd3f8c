package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: what locks promise stays true in any order of verbs: re-entry, releases in any order, downgrades, refused
// upgrades, renewals. Method: random verbs of four owners in two processes against a plain model, while requests and
// replies get lost. After each step the result and all keys of Redis are compared.
func TestRandomVerbsAgreeWithAModel(t *testing.T) { randomVerbs(t, 2) }

func TestLongRandomVerbsAgreeWithAModel(t *testing.T) { randomVerbs(t, 15) }

func randomVerbs(t *testing.T, rounds int) {
	t.Parallel()
	for _, k := range scene.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			draw := func(random *rand.Rand) []step { return redistest.PlanOf(random, 30, 60, drawStep) }
			redistest.Plans(t, rounds, draw, func(plan []step) (failed error) {
				synctest.Test(t, func(t *testing.T) {
					scene.Open(t, k, 3, redlatch.Config{}, func(s *scene.Scene) { failed = newModel(s).actOut(plan) })
				})
				return failed
			})
		})
	}
}

// step is a verb of one owner. So many of a hundred requests or replies are lost meanwhile.
type step struct {
	Actor, Pick, Losses int
	Verb                string
	Pause               time.Duration
	Seed                uint64
}

func drawStep(random *rand.Rand) step {
	verbs := []string{"lock", "lock", "rival", "inside", "try", "unlock", "unlock", "unlock", "detach", "pause"}
	return step{
		Actor: random.IntN(4), Pick: random.IntN(6), Losses: redistest.Pick(random, 0, 0, 20, 50), Seed: random.Uint64(),
		Verb: redistest.Pick(random, verbs...), Pause: redistest.Pick(random, time.Second, 12*time.Second, 47*time.Second),
	}
}

// model is the lock as it should be: the holds of each owner.
type model struct {
	*scene.Scene
	actors [4]actor
}

type actor struct {
	*scene.Process
	ctx   context.Context
	holds []scene.Taken
}

func newModel(s *scene.Scene) *model {
	m, second := &model{Scene: s}, s.Other(redlatch.Config{})
	for i := range m.actors {
		p := []*scene.Process{s.Home, second}[i%2]
		m.actors[i] = actor{Process: p, ctx: p.Owner()}
	}
	return m
}

func (m *model) actOut(plan []step) error {
	defer func() {
		for _, h := range m.all(nil) {
			h.Detach()
		}
	}()
	for i, step := range plan {
		roll := stage.Dice(step.Seed)
		m.SpoilSome(func([]string) stage.Fate {
			if roll(100) < step.Losses {
				return []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost}[roll(3)]
			}
			return stage.Arrives
		})
		err := m.act(&m.actors[step.Actor], step)
		if err == nil {
			err = m.compare()
		}
		if err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, step, err)
		}
	}
	return nil
}

// all are the holds of all owners but one.
func (m *model) all(but *actor) (holds []scene.Taken) {
	for i := range m.actors {
		if a := &m.actors[i]; a != but {
			holds = append(holds, a.holds...)
		}
	}
	return holds
}

// patience is so long that a run of losses cannot outlast it: a free lock is granted.
const patience = 10 * time.Second

func (m *model) act(a *actor, step step) error {
	switch step.Verb {
	case "lock":
		return m.take(a, a.Lock, m.Lock, patience)
	case "try":
		return m.take(a, a.Lock, m.Lock, 0)
	case "rival":
		return m.take(a, a.Rival, m.Rival, patience)
	case "inside":
		if m.CanReenter() {
			return m.take(a, a.Inside, m.Inside, patience)
		}
	case "unlock":
		if n := len(a.holds); n > 0 {
			h := a.holds[step.Pick%n]
			a.holds = slices.Delete(a.holds, step.Pick%n, step.Pick%n+1)
			return h.Unlock(a.ctx)
		}
	case "detach":
		if n := len(a.holds); n > 1 && m.CanReenter() && m.Sort == scene.One && a.holds[n-1].Alike(a.holds[n-2].Way) {
			a.holds[n-1].Detach()
			a.holds = a.holds[:n-1]
			return m.take(a, m.lockOf(a, a.holds[n-2].Way), a.holds[n-2].Way, patience) // Redis learns of it with the next count
		}
	case "pause":
		time.Sleep(step.Pause)
	}
	return nil
}

// lockOf is the lock that an owner takes in a way.
func (m *model) lockOf(a *actor, w scene.Way) redlatch.Lock {
	if m.Rival.Alike(w) {
		return a.Rival
	}
	return a.Inside
}

// take compares the result of an acquisition, and notes the hold.
func (m *model) take(a *actor, l redlatch.Lock, way scene.Way, wait time.Duration) error {
	want := m.Refused(way, a.holds, m.all(a))
	h, err := l.Lock(a.ctx, redlatch.WithWait(wait))
	switch {
	case want == nil && err != nil:
		return fmt.Errorf("what should be granted: %w", err)
	case want == redlatch.ErrNotAcquired && errors.Is(err, redlatch.ErrUnknownOutcome):
		// The last reply was lost, and so was what should take it back at once.
	case want != nil && !errors.Is(err, want):
		return fmt.Errorf("got %v, want %w", err, want)
	case want == nil:
		a.holds = append(a.holds, scene.Taken{Hold: h, Way: way})
	}
	return nil
}

// compare looks at all that Redis has, past the clients and the losses.
func (m *model) compare() error {
	if m.Sort == scene.Cohort || m.Sort == scene.Majority {
		time.Sleep(time.Second) // something goes on behind the call
		m.Net(nil)              // and may have no answer for as long as chance has it
		time.Sleep(3 * time.Second)
	}
	holds := m.all(nil)
	for _, h := range holds {
		if !h.Valid() {
			return fmt.Errorf("a hold was lost: %w", h.Err())
		}
	}
	if left := m.Left(); len(holds) > 0 && (left < 10*time.Second || left > 30*time.Second) {
		return fmt.Errorf("Redis keeps it for %v", left)
	}
	if got, want := m.Redis(), m.Expected(holds...); got != want {
		return fmt.Errorf("Redis has %s, the model %s", got, want)
	}
	return nil
}

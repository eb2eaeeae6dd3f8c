package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// TestRandomVerbsAgreeWithAModel runs random verbs of several owners, in two
// clients, against a plain model of a re-entrant lock, while requests and replies
// get lost, and compares every result and the state of Redis.
func TestRandomVerbsAgreeWithAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		// Everything is drawn before the bubble, which rapid cannot look into.
		p := plan{
			losses: rapid.SampledFrom([]float64{0, 0.2, 0.5}).Draw(r, "losses"),
			seed:   rapid.Uint64().Draw(r, "seed"),
			steps:  rapid.SliceOfN(rapid.Custom(drawStep), 20, 50).Draw(r, "steps"),
		}
		var failed error
		synctest.Test(t, func(t *testing.T) {
			stage.Perform(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { failed = p.actOut(t, s) })
		})
		if failed != nil {
			r.Fatal(failed)
		}
	})
}

// plan is one random run.
type plan struct {
	losses float64
	seed   uint64
	steps  []step
}

type step struct {
	Actor int
	Verb  string
	Pause time.Duration
}

func drawStep(r *rapid.T) step {
	return step{
		Actor: rapid.IntRange(0, 3).Draw(r, "actor"),
		Verb:  rapid.SampledFrom([]string{"try", "wait", "unlock", "unlock", "detach inner", "pause"}).Draw(r, "verb"),
		Pause: rapid.SampledFrom([]time.Duration{time.Second, 12 * time.Second, 47 * time.Second}).Draw(r, "pause"),
	}
}

// actor is one owner of the model: the holds it has, newest last.
type actor struct {
	ctx   context.Context
	mutex *redlatch.Mutex
	holds []*redlatch.Hold
}

func (p plan) actOut(t *testing.T, s *stage.Stage) error {
	second := s.Other(redlatch.Config{})
	var actors []*actor
	for i := range 4 {
		c := []*redlatch.Client{s.Client, second}[i%2]
		actors = append(actors, &actor{ctx: c.WithOwner(t.Context()), mutex: c.Mutex("job")})
	}
	roll := stage.Dice(p.seed)
	s.Driver.Spoil(func([]string) stage.Fate {
		if float64(roll(100)) < 100*p.losses {
			return []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost}[roll(3)]
		}
		return stage.Arrives
	})
	holder := func() *actor {
		for _, a := range actors {
			if len(a.holds) > 0 {
				return a
			}
		}
		return nil
	}
	for i, step := range p.steps {
		a := actors[step.Actor]
		free := holder() == nil || holder() == a
		err := a.act(step, free)
		if err == nil {
			err = compare(s, holder())
		}
		if err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, step, err)
		}
	}
	return nil
}

// patience is so long that a run of losses cannot outlast it: a free lock is granted.
const patience = 10 * time.Second

// act carries out one step and checks its result against what the model allows.
func (a *actor) act(step step, free bool) error {
	n := len(a.holds)
	switch step.Verb {
	case "try":
		return a.take(free, redlatch.WithWait(0))
	case "wait":
		return a.take(free, redlatch.WithWait(patience))
	case "unlock":
		if n > 0 {
			h := a.holds[n-1]
			a.holds = a.holds[:n-1]
			return h.Unlock(a.ctx)
		}
	case "detach inner":
		if n > 1 {
			a.holds[n-1].Detach()
			a.holds = a.holds[:n-1]
			return a.take(true) // Redis learns of it with the next change of the count
		}
	case "pause":
		time.Sleep(step.Pause)
	}
	return nil
}

func (a *actor) take(free bool, opts ...redlatch.LockOption) error {
	h, err := a.mutex.Lock(a.ctx, opts...)
	switch {
	case free && err == nil:
		a.holds = append(a.holds, h)
		return nil
	case free:
		return fmt.Errorf("a lock that is free to this owner: %w", err)
	case errors.Is(err, redlatch.ErrNotAcquired), errors.Is(err, redlatch.ErrUnknownOutcome):
		return nil // unknown: the last reply was lost, and so was what should take it back at once
	}
	return fmt.Errorf("a lock that another holds: %v, want ErrNotAcquired", err)
}

// compare looks at Redis, past the clients and the losses.
func compare(s *stage.Stage, holder *actor) error {
	m := s.Memory.Miniredis()
	got, want := "free", "free"
	if fields, err := m.HKeys("job"); err == nil {
		got = fmt.Sprint(fields, "=", m.HGet("job", fields[0]))
	}
	if holder != nil {
		want = fmt.Sprint([]string{holder.holds[0].Owner()}, "=", fmt.Sprint(len(holder.holds)))
		for _, h := range holder.holds {
			if !h.Valid() {
				return fmt.Errorf("a hold was lost: %w", h.Err())
			}
		}
		if ttl := s.TTL("job"); ttl < 10*time.Second || ttl > 30*time.Second {
			return fmt.Errorf("the TTL is %v", ttl)
		}
	}
	if got != want {
		return fmt.Errorf("Redis has %s, the model %s", got, want)
	}
	return nil
}

// TestNobodyOverlapsWhileEverythingGoesWrong lets two clients with sixteen workers
// contend while a third of all requests or replies is lost, waits are short, and
// contexts end. An overlap is two workers between Lock and Unlock.
func TestNobodyOverlapsWhileEverythingGoesWrong(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { contendBadly(t, s, seed) })
		})
	}
}

func contendBadly(t *testing.T, s *stage.Stage, seed uint64) {
	var mu sync.Mutex
	roll := stage.Dice(seed)
	s.Driver.Spoil(stage.LosesOneOf(3, roll))
	clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{})}
	var inside *redlatch.Hold
	entered := 0
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for range 40 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+roll(3000))*time.Millisecond)
				h, err := clients[w%2].Mutex("job").Lock(ctx)
				if err == nil {
					mu.Lock()
					if inside != nil {
						t.Errorf("%s entered while %s was inside", h.Owner(), inside.Owner())
					}
					inside = h
					entered++
					mu.Unlock()
					time.Sleep(time.Duration(roll(50)) * time.Millisecond)
					mu.Lock()
					inside = nil
					mu.Unlock()
					if err := h.Unlock(ctx); err != nil && !errors.Is(err, redlatch.ErrUnknownOutcome) {
						t.Error("Unlock:", err)
					}
				}
				cancel()
			}
		})
	}
	workers.Wait()
	s.Driver.Spoil(nil)
	time.Sleep(31 * time.Second) // what nobody could resolve ends with its lease
	if s.Memory.Miniredis().Exists("job") {
		t.Error("the lock is still held")
	}
	check.NothingIn(t, clients)
	if entered < 100 {
		t.Errorf("only %d entered: the test tests too little", entered)
	}
}

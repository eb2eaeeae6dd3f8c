package faults_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// TestLongRandomVerbsOfReadersAndWritersAgreeWithAModel is TestRandomVerbsAgreeWithAModel for
// the read-write lock, downgrades and refused upgrades included.
func TestLongRandomVerbsOfReadersAndWritersAgreeWithAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		losses := rapid.SampledFrom([]int{0, 20, 50}).Draw(r, "losses")
		seed := rapid.Uint64().Draw(r, "seed")
		steps := rapid.SliceOfN(rapid.Custom(drawRWStep), 30, 60).Draw(r, "steps")
		var failed error
		synctest.Test(t, func(t *testing.T) {
			stage.Perform(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				roll := stage.Dice(seed)
				s.Driver.Spoil(func([]string) stage.Fate {
					if roll(100) < losses {
						return []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost}[roll(3)]
					}
					return stage.Arrives
				})
				failed = newRWModel(t, s).actOut(s, steps)
			})
		})
		if failed != nil {
			r.Fatal(failed)
		}
	})
}

type rwStep struct {
	Actor int
	Verb  string
	Pick  int // which hold to release
}

func drawRWStep(r *rapid.T) rwStep {
	return rwStep{
		Actor: rapid.IntRange(0, 2).Draw(r, "actor"),
		Verb:  rapid.SampledFrom([]string{"read", "read", "write", "unlock", "unlock", "pause"}).Draw(r, "verb"),
		Pick:  rapid.IntRange(0, 5).Draw(r, "pick"),
	}
}

// rwModel is the lock as it should be: the holds of three owners in two clients.
type rwModel struct {
	actors []*rwActor
}

type rwActor struct {
	ctx           context.Context
	lock          *redlatch.RWMutex
	reads, writes []*redlatch.Hold
}

func newRWModel(t *testing.T, s *stage.Stage) *rwModel {
	m, second := &rwModel{}, s.Other(redlatch.Config{})
	for i := range 3 {
		c := []*redlatch.Client{s.Client, second}[i%2]
		m.actors = append(m.actors, &rwActor{ctx: c.WithOwner(t.Context()), lock: c.RWMutex("job")})
	}
	return m
}

func (m *rwModel) actOut(s *stage.Stage, steps []rwStep) error {
	for i, step := range steps {
		err := m.act(m.actors[step.Actor], step)
		if err == nil {
			err = m.compare(s)
		}
		if err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, step, err)
		}
	}
	return nil
}

// held says what the owners other than a hold.
func (m *rwModel) held(a *rwActor) (reads, writes int) {
	for _, other := range m.actors {
		if other != a {
			reads, writes = reads+len(other.reads), writes+len(other.writes)
		}
	}
	return reads, writes
}

func (m *rwModel) act(a *rwActor, step rwStep) error {
	reads, writes := m.held(a)
	switch step.Verb {
	case "read":
		h, err := a.lock.RLock(a.ctx, redlatch.WithWait(patience))
		var want error
		if writes > 0 {
			want = redlatch.ErrNotAcquired
		}
		return expect(&a.reads, h, err, want)
	case "write":
		h, err := a.lock.Lock(a.ctx, redlatch.WithWait(patience))
		var want error
		switch {
		case len(a.reads) > 0 && len(a.writes) == 0:
			want = redlatch.ErrUpgrade
		case reads+writes > 0:
			want = redlatch.ErrNotAcquired
		}
		return expect(&a.writes, h, err, want)
	case "unlock":
		side := &a.reads
		if all := len(a.reads) + len(a.writes); all == 0 {
			return nil
		} else if step.Pick%all >= len(a.reads) {
			side = &a.writes
		}
		i := step.Pick % len(*side) // any hold of a side is as good as another
		h := (*side)[i]
		*side = slices.Delete(*side, i, i+1)
		return h.Unlock(a.ctx)
	}
	time.Sleep(12 * time.Second) // at least one renewal
	return nil
}

// expect compares the result of an acquisition, and notes the hold.
func expect(holds *[]*redlatch.Hold, h *redlatch.Hold, err, want error) error {
	switch {
	case want == nil && err != nil:
		return fmt.Errorf("what should be granted: %w", err)
	case want == redlatch.ErrNotAcquired && errors.Is(err, redlatch.ErrUnknownOutcome):
		// The last reply was lost, and so was what should take it back at once.
	case want != nil && !errors.Is(err, want):
		return fmt.Errorf("got %v, want %w", err, want)
	case want == nil:
		*holds = append(*holds, h)
	}
	return nil
}

// compare looks at every key that Redis has, past the clients and the losses.
func (m *rwModel) compare(s *stage.Stage) error {
	var fields, keys []string
	mode := ""
	for _, a := range m.actors {
		if n := len(a.reads); n > 0 {
			owner := a.reads[0].Owner()
			mode = cmp.Or(mode, "read")
			fields = append(fields, fmt.Sprintf("%s=%d", owner, n))
			for k := range n {
				keys = append(keys, fmt.Sprintf("{job}:%s:rwlock_timeout:%d", owner, k+1))
			}
		}
		if n := len(a.writes); n > 0 {
			mode = "write"
			fields = append(fields, fmt.Sprintf("%s:write=%d", a.writes[0].Owner(), n))
		}
		for _, h := range slices.Concat(a.reads, a.writes) {
			if !h.Valid() {
				return fmt.Errorf("a hold was lost: %w", h.Err())
			}
		}
	}
	if mode != "" {
		fields, keys = append(fields, "mode="+mode), append(keys, "job")
	}
	r := s.Memory.Miniredis()
	var gotFields []string
	if all, err := r.HKeys("job"); err == nil {
		for _, field := range all {
			gotFields = append(gotFields, field+"="+r.HGet("job", field))
		}
	}
	slices.Sort(fields)
	slices.Sort(gotFields)
	slices.Sort(keys)
	got, want := strings.Join(append(gotFields, r.Keys()...), " "), strings.Join(append(fields, keys...), " ")
	if got != want {
		return fmt.Errorf("Redis has %s, the model %s", got, want)
	}
	return nil
}

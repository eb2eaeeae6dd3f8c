package faults_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Read-write locks while requests and replies are lost.

func TestLostRepliesOnEitherSide(t *testing.T) {
	for name, what := range map[string]stage.Fate{"not sent": stage.NotSent, "lost": stage.Lost, "reply lost": stage.AnswerLost} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(t.Context())
				count := func(when string, writes, reads int) {
					t.Helper()
					got := map[bool]int{}
					for _, h := range check.Must(m.Status(t.Context())).Holders {
						got[h.Write] += h.Count
					}
					if got[true] != writes || got[false] != reads {
						t.Errorf("%s: %d write and %d read holds, want %d and %d", when, got[true], got[false], writes, reads)
					}
				}
				take := func(l redlatch.Lock) *redlatch.Hold {
					s.Driver.Spoil(stage.Once(what))
					return check.Must(l.Lock(ctx))
				}
				give := func(h *redlatch.Hold) {
					t.Helper()
					s.Driver.Spoil(stage.Once(what))
					if err := h.Unlock(ctx); err != nil {
						t.Error(err)
					}
				}
				w, r1 := take(m.Locker()), take(m.RLocker())
				r2, w2 := take(m.RLocker()), take(m.Locker())
				count("all", 2, 2)
				give(w2)
				give(r2)
				count("half", 1, 1)
				give(w)
				count("downgraded", 0, 1)
				s.Driver.Spoil(stage.Once(what))
				time.Sleep(65 * time.Second)
				count("renewed", 0, 1)
				give(r1)
				count("none", 0, 0)
				if keys := s.Memory.Miniredis().Keys(); len(keys) != 0 {
					t.Errorf("left over: %v", keys)
				}
			})
		})
	}
}

// TestReadersAndWritersNeverMix is the random run of both sides, with downgrades.
func TestReadersAndWritersNeverMix(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { mixBadly(t, s, seed) })
		})
	}
}

func mixBadly(t *testing.T, s *stage.Stage, seed uint64) {
	clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{}), s.Other(redlatch.Config{})}
	run := &rwMix{t: t, roll: stage.Dice(seed)}
	s.Driver.Spoil(stage.LosesOneOf(4, run.roll))
	var workers sync.WaitGroup
	for i := range 15 {
		workers.Go(func() {
			for range 30 {
				run.visit(clients[i%3])
			}
		})
	}
	workers.Wait()
	s.Driver.Spoil(nil)
	time.Sleep(31 * time.Second)
	if keys := s.Memory.Miniredis().Keys(); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
	check.NothingIn(t, clients)
	if run.entered < 100 {
		t.Errorf("only %d entered: the test tests too little", run.entered)
	}
}

// rwMix counts who is inside of a read-write lock.
type rwMix struct {
	t    *testing.T
	roll func(n int) int

	mu                        sync.Mutex
	readers, writers, entered int
}

// visit reads, or writes, or writes and then reads, for a moment.
func (run *rwMix) visit(c *redlatch.Client) {
	m, ctx := c.RWMutex("job"), c.WithOwner(run.t.Context())
	wait := redlatch.WithWait(time.Duration(1+run.roll(2000)) * time.Millisecond)
	if run.roll(3) > 0 {
		if h, err := m.RLock(ctx, wait); err == nil {
			run.move(1, 0)
			run.leave(h, -1, 0)
		}
		return
	}
	w, err := m.Lock(ctx, wait)
	if err != nil {
		return
	}
	run.move(0, 1)
	if run.roll(2) == 0 {
		run.pause()
		if r, err := m.RLock(ctx); err == nil {
			run.move(1, -1) // a downgrade
			run.release(w)
			run.leave(r, -1, 0)
			return
		}
	}
	run.leave(w, 0, -1)
}

func (run *rwMix) move(readers, writers int) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.readers, run.writers = run.readers+readers, run.writers+writers
	run.entered += max(readers, 0) + max(writers, 0)
	if run.writers > 1 || run.writers == 1 && run.readers > 0 {
		run.t.Errorf("%d writers and %d readers are inside", run.writers, run.readers)
	}
}

func (run *rwMix) pause() { time.Sleep(time.Duration(run.roll(40)) * time.Millisecond) }

// leave goes out after a moment, and then releases the hold.
func (run *rwMix) leave(h *redlatch.Hold, readers, writers int) {
	run.pause()
	run.move(readers, writers)
	run.release(h)
}

func (run *rwMix) release(h *redlatch.Hold) {
	if err := h.Unlock(run.t.Context()); err != nil && !errors.Is(err, redlatch.ErrUnknownOutcome) {
		run.t.Error("Unlock:", err)
	}
}

package redlatch_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
)

// Read-write locks while requests and replies are lost.

func TestLostRepliesOnEitherSide(t *testing.T) {
	for name, what := range map[string]fate{"not sent": isNotSent, "lost": isLost, "reply lost": losesAnswer} {
		t.Run(name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				m, ctx := s.client.RWMutex("job"), s.client.WithOwner(t.Context())
				count := func(when string, writes, reads int) {
					t.Helper()
					got := map[bool]int{}
					for _, h := range must(m.Status(t.Context())).Holders {
						got[h.Write] += h.Count
					}
					if got[true] != writes || got[false] != reads {
						t.Errorf("%s: %d write and %d read holds, want %d and %d", when, got[true], got[false], writes, reads)
					}
				}
				take := func(l redlatch.Lock) *redlatch.Hold {
					s.driver.spoil(once(what))
					return must(l.Lock(ctx))
				}
				give := func(h *redlatch.Hold) {
					t.Helper()
					s.driver.spoil(once(what))
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
				s.driver.spoil(once(what))
				time.Sleep(65 * time.Second)
				count("renewed", 0, 1)
				give(r1)
				count("none", 0, 0)
				if keys := s.memory.Miniredis().Keys(); len(keys) != 0 {
					t.Errorf("left over: %v", keys)
				}
			})
		})
	}
}

// TestReadersAndWritersNeverMix is the random run of both sides, with downgrades.
func TestReadersAndWritersNeverMix(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) { mixBadly(t, s, seed) })
		})
	}
}

func mixBadly(t *testing.T, s *stage, seed uint64) {
	roll := dice(seed)
	s.driver.spoil(func([]string) fate {
		if roll(4) == 0 {
			return []fate{isNotSent, isLost, losesAnswer}[roll(3)]
		}
		return arrives
	})
	clients := []*redlatch.Client{s.client, s.other(redlatch.Config{}), s.other(redlatch.Config{})}
	var mu sync.Mutex
	readers, writers, entered := 0, 0, 0
	move := func(r, w int) {
		mu.Lock()
		defer mu.Unlock()
		readers, writers = readers+r, writers+w
		entered += max(r, 0) + max(w, 0)
		if writers > 1 || writers == 1 && readers > 0 {
			t.Errorf("%d writers and %d readers are inside", writers, readers)
		}
	}
	give := func(h *redlatch.Hold) {
		if err := h.Unlock(t.Context()); err != nil && !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("Unlock:", err)
		}
	}
	pause := func() { time.Sleep(time.Duration(roll(40)) * time.Millisecond) }
	var workers sync.WaitGroup
	for i := range 15 {
		workers.Go(func() {
			c := clients[i%3]
			m := c.RWMutex("job")
			for range 30 {
				ctx, wait := c.WithOwner(t.Context()), redlatch.WithWait(time.Duration(1+roll(2000))*time.Millisecond)
				if roll(3) > 0 {
					if h, err := m.RLock(ctx, wait); err == nil {
						move(1, 0)
						pause()
						move(-1, 0)
						give(h)
					}
					continue
				}
				w, err := m.Lock(ctx, wait)
				if err != nil {
					continue
				}
				move(0, 1)
				pause()
				if roll(2) == 0 {
					if r, err := m.RLock(ctx); err == nil {
						move(1, -1) // a downgrade
						give(w)
						pause()
						move(-1, 0)
						give(r)
						continue
					}
				}
				move(0, -1)
				give(w)
			}
		})
	}
	workers.Wait()
	s.driver.spoil(nil)
	time.Sleep(31 * time.Second)
	if keys := s.memory.Miniredis().Keys(); len(keys) != 0 {
		t.Errorf("left over: %v", keys)
	}
	for _, c := range clients {
		if st := c.Stats(); st.Holds != 0 || st.Waiters != 0 || st.Losses != 0 {
			t.Errorf("left over: %+v", st)
		}
	}
	if entered < 100 {
		t.Errorf("only %d entered: the test tests too little", entered)
	}
}

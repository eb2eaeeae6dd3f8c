package counters_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
	"github.com/redlatch/redlatch/tests/internal/check"
)

// Goal: whoever has one of n permits finds one of n mutexes free, and the lowest is taken first. Method: forty workers in
// two processes use three slots, as docs/semaphores.md does, in a bubble of fake time.
func TestAPermitIsTheRightToANumberedSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots = 3
		s := redlatchtest.NewServer(t)
		clients := []*redlatch.Client{s.Client(redlatch.Config{}), s.Client(redlatch.Config{})}
		check.Must(clients[0].PermitSemaphore("slots").TrySetPermits(t.Context(), slots))
		s.Delay(time.Millisecond)
		var workers sync.WaitGroup
		var used [slots]sync.Mutex
		for i := range 40 {
			c := clients[i%2]
			workers.Go(func() {
				err := redlatch.Do(t.Context(), c.PermitSemaphore("slots").Locker(), func(ctx context.Context, _ *redlatch.Hold) error {
					for i := range slots {
						h, err := c.Mutex(fmt.Sprintf("slot:%d", i)).TryLock(ctx)
						if errors.Is(err, redlatch.ErrNotAcquired) {
							continue
						}
						if !used[i].TryLock() {
							t.Errorf("slot %d has two workers", i)
						}
						time.Sleep(rand.N(20 * time.Millisecond))
						used[i].Unlock()
						return errors.Join(err, h.Unlock(ctx))
					}
					return errors.New("no slot is free")
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
	})
}

// look is what a worker does next: it looks at this slot, or gives it back if it has it. A worker that has no permit is at
// the first one.
type look struct {
	slot int
	has  bool
}

// Goal: the claim above, for every order of steps. Method: all states that two to six workers reach, each with a permit.
func TestAPermitIsTheRightToANumberedSlotInEveryOrder(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 6; n++ {
		start := fmt.Sprint(make([]look, n))
		seen, todo := map[string]bool{start: true}, [][]look{make([]look, n)}
		for len(todo) > 0 {
			state := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for i, w := range state {
				next := slices.Clone(state)
				switch {
				case w.has:
					next[i] = look{}
				case !slices.Contains(state, look{w.slot, true}):
					next[i].has = true
				case w.slot+1 == n:
					t.Fatalf("of %d slots worker %d finds none: %v", n, i, state)
				default:
					next[i].slot++
				}
				slices.SortFunc(next, func(a, b look) int { return cmp.Or(a.slot-b.slot, len(fmt.Sprint(a.has))-len(fmt.Sprint(b.has))) })
				if key := fmt.Sprint(next); !seen[key] {
					seen[key], todo = true, append(todo, next)
				}
			}
		}
		t.Logf("%d slots: %d states", n, len(seen))
	}
}

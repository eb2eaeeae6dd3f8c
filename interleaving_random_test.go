package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Random: shared owners used by several goroutines on both sides of read-write locks,
// contexts that end, lost requests and replies, two clients. Nobody overlaps, no error
// beyond those documented, and in the end nothing is left.
func TestSharedOwnersAtRandomLeaveNothingBehind(t *testing.T) {
	m, err := memory.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sp := &spoiled{Driver: m}
	cfg := quiet(redlatch.Config{LeaseTime: 2 * time.Second, PollCap: 200 * time.Millisecond, CommandTimeout: 300 * time.Millisecond, ReleaseTimeout: time.Second})
	var cs []*redlatch.Client
	for range 2 {
		c, err := redlatch.New(sp, cfg)
		if err != nil {
			t.Fatal(err)
		}
		cs = append(cs, c)
	}
	sp.spoil(func([]string) fate {
		switch rand.IntN(60) {
		case 0:
			return isLost
		case 1:
			return losesAnswer
		case 2:
			return isNotSent
		}
		return arrives
	})
	var inside [4]struct {
		mu     sync.Mutex
		reads  map[int]int
		writes map[int]int
	}
	for i := range inside {
		inside[i].reads, inside[i].writes = map[int]int{}, map[int]int{}
	}
	check := func(i, owner int, read bool, by int) {
		s := &inside[i]
		s.mu.Lock()
		defer s.mu.Unlock()
		if read {
			s.reads[owner] += by
		} else {
			s.writes[owner] += by
		}
		for w, n := range s.writes {
			for r, k := range s.reads {
				if n > 0 && k > 0 && r != w {
					t.Errorf("lock %d: %d writes while %d reads", i, w, r)
				}
			}
			for o, k := range s.writes {
				if n > 0 && k > 0 && o != w {
					t.Errorf("lock %d: %d and %d write", i, w, o)
				}
			}
		}
	}
	var odd sync.Map
	var grants atomic.Int64
	end := time.Now().Add(time.Duration(15*redistest.Stretch()) * time.Second)
	var wg sync.WaitGroup
	for owner := range 6 {
		c := cs[owner%2]
		octx := c.WithOwner(context.Background())
		for range 3 {
			wg.Go(func() {
				for time.Now().Before(end) {
					i := rand.IntN(4)
					read := rand.IntN(2) == 0
					var l redlatch.Lock
					switch {
					case i == 0:
						read = false
						l = c.Mutex("l0")
					case i == 1:
						read = false
						l = c.FairMutex("l1")
					case read:
						l = c.RWMutex(fmt.Sprint("l", i)).RLocker()
					default:
						l = c.RWMutex(fmt.Sprint("l", i)).Locker()
					}
					ctx, cancel := context.WithTimeout(octx, time.Duration(rand.IntN(400))*time.Millisecond)
					h, err := l.Lock(ctx)
					cancel()
					if err != nil {
						if !errors.Is(err, redlatch.ErrNotAcquired) && !errors.Is(err, redlatch.ErrUnknownOutcome) && !errors.Is(err, redlatch.ErrUpgrade) &&
							!errors.Is(err, context.DeadlineExceeded) { // the bound of one command
							odd.Store(err.Error(), true)
						}
						continue
					}
					grants.Add(1)
					check(i, owner, read, 1)
					time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
					if !h.Valid() {
						odd.Store(fmt.Sprint("lost: ", h.Err()), true)
					}
					check(i, owner, read, -1)
					if err := h.Unlock(ctx); err != nil && !errors.Is(err, redlatch.ErrUnknownOutcome) {
						odd.Store("unlock: "+err.Error(), true)
					}
				}
			})
		}
	}
	wg.Wait()
	sp.spoil(nil)
	n := 0
	odd.Range(func(k, _ any) bool {
		if n++; n < 12 {
			t.Errorf("odd: %v", k)
		}
		return true
	})
	t.Log("grants:", grants.Load())

	redistest.Eventually(t, 8*time.Second, func() bool {
		return cs[0].Stats().Holds == 0 && cs[1].Stats().Holds == 0 && len(m.Miniredis().Keys()) == 0
	}, "nothing is left")
	for _, c := range cs {
		s := c.Stats()
		if s.Holds+s.Waiters != 0 {
			t.Errorf("left: %+v", s)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Log(m.Miniredis().Keys())
}

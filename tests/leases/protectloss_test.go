package leases_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// The session agrees with the holds, whatever is lost.

// Goal: after whatever has happened, the session speaks of what is held and of nothing
// else. Method: random verbs by several goroutines with random losses, then silence.
func TestLongTheSessionAgreesWithTheHoldsAfterRandomLosses(t *testing.T) {
	t.Parallel()
	for range redistest.Stretch(10) {
		seed := rand.Uint64()
		stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { randomHolds(t, s, seed) })
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func randomHolds(t *testing.T, s *stage.Stage, seed uint64) {
	luck := rand.New(rand.NewPCG(seed, 0))
	s.Driver.Spoil(func([]string) stage.Fate {
		if luck.IntN(6) > 0 {
			return stage.Arrives
		}
		return stage.Fate(luck.IntN(4))
	})
	var mu sync.Mutex
	held := make(map[string]*redlatch.Hold)
	var working sync.WaitGroup
	for worker := range 6 {
		random := rand.New(rand.NewPCG(seed, uint64(worker)+1))
		working.Go(func() {
			ctx := s.Client.WithOwner(context.WithoutCancel(t.Context()))
			var mine []*redlatch.Hold
			for range 40 {
				name := fmt.Sprint("job", random.IntN(3))
				locks := []redlatch.Lock{s.Client.Mutex("m" + name), s.Client.FairMutex("f" + name), s.Client.RWMutex("r" + name).RLocker(), s.Client.RWMutex("r" + name)}
				switch n := random.IntN(10); {
				case n < 5:
					if h, err := locks[random.IntN(4)].Lock(ctx, redlatch.WithWait(time.Duration(random.IntN(3000))*time.Millisecond)); err == nil {
						mine = append(mine, h)
					}
				case n < 9 && len(mine) > 0:
					i := random.IntN(len(mine))
					_ = mine[i].Unlock(ctx)
					mine = slices.Delete(mine, i, i+1)
				default:
					time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for i, h := range mine {
				held[fmt.Sprint(worker, i)] = h
			}
		})
	}
	working.Wait()
	s.Driver.Spoil(nil)
	time.Sleep(40 * time.Second) // every outage is over, and a heartbeat has followed
	synctest.Wait()
	want := make(map[string]bool)
	for _, h := range held {
		if h.Valid() {
			want[h.Owner()] = true
		}
	}
	got := make(map[string]bool)
	for key := range session(s.Memory, s.Client) {
		field, _, _ := protocol.ParseSessionField(key)
		owner, _ := protocol.ParseField(field)
		got[owner] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("on record are %v, held %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	t.Logf("%d owners hold something at the end", len(want))
}

package redlatch_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The session agrees with the holds, whatever is lost.

// Goal: after whatever has happened, the session speaks of what is held and of nothing
// else. Method: random verbs by several goroutines with random losses, then silence.
func TestTheSessionAgreesWithTheHoldsAfterRandomLosses(t *testing.T) {
	t.Parallel()
	for range redistest.Stretch(10) {
		seed := rand.Uint64()
		protected(t, redlatch.Config{}, func(t *testing.T, s *stage) { randomHolds(t, s, seed) })
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func randomHolds(t *testing.T, s *stage, seed uint64) {
	luck := rand.New(rand.NewPCG(seed, 0))
	s.driver.spoil(func([]string) fate {
		if luck.IntN(6) > 0 {
			return arrives
		}
		return fate(luck.IntN(4))
	})
	var mu sync.Mutex
	held := make(map[string]*redlatch.Hold)
	var working sync.WaitGroup
	for worker := range 6 {
		random := rand.New(rand.NewPCG(seed, uint64(worker)+1))
		working.Go(func() {
			ctx := s.client.WithOwner(context.WithoutCancel(t.Context()))
			var mine []*redlatch.Hold
			for range 40 {
				name := fmt.Sprint("job", random.IntN(3))
				locks := []redlatch.Lock{s.client.Mutex("m" + name), s.client.FairMutex("f" + name), s.client.RWMutex("r" + name).RLocker(), s.client.RWMutex("r" + name)}
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
	s.driver.spoil(nil)
	time.Sleep(40 * time.Second) // every outage is over, and a heartbeat has followed
	synctest.Wait()
	want := make(map[string]bool)
	for _, h := range held {
		if h.Valid() {
			want[h.Owner()] = true
		}
	}
	got := make(map[string]bool)
	for key := range session(s.memory, s.client) {
		field, _, _ := protocol.ParseSessionField(key)
		owner, _ := protocol.ParseField(field)
		got[owner] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("on record are %v, held %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	t.Logf("%d owners hold something at the end", len(want))
}

// The session is told before the acquisition, and after the release.
func TestTheRecordIsThereBeforeTheHoldAndAfterIt(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		_ = must(m.Lock(t.Context())).Unlock(t.Context())
		synctest.Wait() // for what the session still sends
		var keys []string
		s.tap().set(func(commands []driver.Command, send sender) []driver.Reply {
			for _, c := range commands {
				keys = append(keys, c.Key)
			}
			return send(commands...)
		})
		_ = must(m.Lock(t.Context())).Unlock(t.Context())
		synctest.Wait()
		session := protocol.SessionKey(s.client.ID())
		if want := []string{session, "job", "job", "job", session}; !slices.Equal(keys, want) {
			t.Errorf("the commands went to %q, want %q", keys, want)
		}
	})
}

// Goal: a hold is protected from its grant on. Method: while its owner waits, a watchdog that found
// the process paused has removed the entry of a lock that it does not hold.
func TestAWaiterWhoseEntryIsGoneIsProtectedOnceItHolds(t *testing.T) {
	story(t, redlatch.Config{Protect: true}, func(t *testing.T, s *stage) {
		held := must(s.stranger().Mutex("job").Lock(s.limited()))
		got := make(chan *redlatch.Hold, 1)
		go func() { got <- must(s.client.Mutex("job").Lock(s.limited())) }()
		time.Sleep(time.Second)
		m, session := s.memory.Miniredis(), protocol.SessionKey(s.client.ID())
		before, _ := m.HKeys(session)
		for _, field := range before {
			if strings.Contains(field, "job") {
				m.HDel(session, field)
			}
		}
		_ = held.Unlock(s.limited())
		h := <-got
		if after, _ := m.HKeys(session); !slices.Equal(after, before) || len(before) < 2 {
			t.Errorf("the session has %q, want %q", after, before)
		}
		_ = h.Unlock(s.limited())
	})
}

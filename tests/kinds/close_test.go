package kinds_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

// What the end of a client ends.

var configs = map[string]redlatch.Config{
	"with messages": {},
	"polling":       {Backoff: redlatch.Backoff{First: time.Minute, Max: time.Hour}},
}

// crowd is some owners that wait for the lock.
type crowd struct {
	s    *scene.Scene
	told chan error
}

func wait(s *scene.Scene) *crowd {
	c := &crowd{s, make(chan error, 3)}
	for range cap(c.told) {
		go func() { c.told <- check.ErrOf(s.Home.Lock.Lock(s.Context())) }()
	}
	time.Sleep(7 * time.Second)
	return c
}

// wantClosed fails unless all are told at once that the client has ended.
func (c *crowd) wantClosed() {
	c.s.Helper()
	began := time.Now()
	for range cap(c.told) {
		check.Is(c.s.T, "the wait", <-c.told, redlatch.ErrClosed)
	}
	check.Within(c.s.T, "until all were told", time.Since(began), 0, time.Second)
}

// held says who holds the lock while others wait for it: the process that ends, or another one.
var held = map[string]bool{"held here": true, "held elsewhere": false}

func TestCloseReleasesTheLockAndEndsWaits(t *testing.T) {
	for name, cfg := range configs {
		for where, here := range held {
			t.Run(name+"/"+where, func(t *testing.T) {
				scene.Each(t, cfg, func(s *scene.Scene) {
					other, holder := s.Stranger(), s.Home
					if !here {
						holder = other
					}
					h := holder.Block()
					crowd, began := wait(s), time.Now()
					check.Is(s.T, "Close", s.Home.Close(), nil)
					check.Within(s.T, "Close", time.Since(began), 0, time.Second)
					crowd.wantClosed()
					check.Is(s.T, "the second Close", s.Home.Close(), nil)
					if here {
						check.Is(s.T, "Err", h.Err(), redlatch.ErrReleased)
					}
					check.Is(s.T, "Unlock", h.Unlock(s.Context()), nil)
					check.Is(s.T, "Lock after Close", check.ErrOf(s.Home.Lock.Lock(s.Context())), redlatch.ErrClosed)
					other.Free(check.Must(other.Lock.Lock(s.Context(), redlatch.WithWait(100*time.Millisecond))))
				})
			})
		}
	}
}

// Goal: a hold is kept, and renewed, until its holder releases it. Then the client is closed. Waits end at once.
func TestShutdownLetsHoldsEndInPeace(t *testing.T) {
	for where, here := range held {
		t.Run(where, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				other := s.Stranger()
				var h, keep scene.Taken
				if here {
					h = s.Home.Block()
				} else {
					h, keep.Hold = other.Block(), check.Must(s.Home.Clients[0].Mutex("keep").Lock(s.Context()))
				}
				crowd, done := wait(s), make(chan error, 1)
				go func() { done <- s.Home.Shutdown() }()
				synctest.Wait()
				if !here {
					other.Free(h.Hold)
				}
				crowd.wantClosed()
				check.Is(s.T, "Lock", check.ErrOf(s.Home.Lock.Lock(s.Context())), redlatch.ErrClosed)
				time.Sleep(5 * time.Minute)
				if here {
					s.Holds("after ten leases", h)
					check.Is(s.T, "TryLock of a stranger", check.ErrOf(other.Rival.TryLock(s.Context())), redlatch.ErrNotAcquired)
					keep = h
				}
				if len(done) > 0 || !keep.Valid() {
					s.Errorf("Shutdown did not wait for the last hold, which is %v", keep.Err())
				}
				s.Home.Free(keep.Hold)
				other.Free(check.Must(other.Lock.Lock(s.Context(), redlatch.WithWait(100*time.Millisecond))))
				check.Is(s.T, "Shutdown", <-done, nil)
			})
		})
	}
}

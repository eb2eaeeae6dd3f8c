package redlatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// A lock that is passed on in memory.

// passing is the option of the stories.
var passing = redlatch.WithCohort(stay)

// wantHeld fails unless the server has the lock, or has it not.
func (s *stage) wantHeld(want bool) {
	s.Helper()
	if got := s.memory.Miniredis().Exists("job"); got != want {
		s.Errorf("in Redis the lock is held: %v, want %v", got, want)
	}
}

// Goal: what is passed on costs Redis nothing. Method: eight goroutines take the lock in turn, and
// a counter that only the lock guards.
func TestACohortPassesTheLockOnInTheOrderOfArrival(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		first := must(m.Lock(ctx, passing))
		var all sync.WaitGroup
		var order []int
		for i := range 8 {
			all.Go(func() {
				h := must(m.Lock(ctx, passing, redlatch.WithWait(time.Duration(1+i)*time.Minute)))
				order = append(order, i)
				_ = h.Unlock(ctx)
			})
			synctest.Wait()
		}
		if n := s.client.Stats().Waiters; n != 8 {
			t.Errorf("%d wait", n)
		}
		before := s.driver.scripts.Load()
		if err := first.Unlock(ctx); err != nil {
			t.Error(err)
		}
		all.Wait()
		if n := s.driver.scripts.Load() - before; n != 0 || !slices.IsSorted(order) || len(order) != 8 {
			t.Errorf("%d requests, in the order %v", n, order)
		}
		s.wantHeld(true)
		time.Sleep(2 * time.Millisecond)
		s.wantHeld(false)
		if st := s.client.Stats(); st.Holds != 0 || st.Waiters != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Others get the lock when its time is over, although somebody of the cohort always wants it.
func TestACohortGivesTheLockToOthersWhenItsTimeIsOver(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		over, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for over.Err() == nil {
					h := must(m.Lock(ctx, passing))
					time.Sleep(time.Millisecond)
					_ = h.Unlock(ctx)
				}
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		h := must(s.stranger().Mutex("job").Lock(ctx))
		within(t, "the wait of another process", time.Since(began), 0, stay+10*time.Millisecond)
		_ = h.Unlock(ctx)
		stop()
		all.Wait()
	})
}

// The time counts from when the lock was really taken. A hold that was passed on does not renew it.
func TestATurnThatComesTooLateAsksRedis(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		owners := map[string]int{}
		for range 4 {
			h := must(m.Lock(ctx, passing))
			owners[h.Owner()]++
			next := make(chan *redlatch.Hold)
			go func() { next <- must(m.Lock(ctx, passing)) }()
			time.Sleep(stay - time.Millisecond)
			_ = h.Unlock(ctx)
			h = <-next
			owners[h.Owner()]++
			time.Sleep(2 * time.Millisecond)
			_ = h.Unlock(ctx)
		}
		if len(owners) != 4 {
			t.Errorf("four times the lock was passed on once, and it had the owners %v", owners)
		}
	})
}

// A hold that is too old is released first, and then the next one is asked for.
func TestATurnThatComesTooLateReleasesFirst(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		h := must(m.Lock(ctx, passing))
		next := make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx, passing, redlatch.WithWait(time.Second))
			next <- err
		}()
		time.Sleep(stay)
		_ = h.Unlock(ctx)
		is(t, "the next Lock", <-next, nil)
	})
}

// Goal: what nobody wants is kept for a moment, and no longer than the time of the cohort allows. It
// is never released below a turn.
func TestALockThatNobodyWantsIsKeptForAMoment(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		for _, at := range []time.Duration{0, 900 * time.Microsecond} {
			time.Sleep(at)
			_ = must(m.Lock(ctx, passing)).Unlock(ctx)
		}
		time.Sleep(900 * time.Microsecond)
		s.wantHeld(true)
		h := must(m.Lock(ctx, passing))
		time.Sleep(5 * time.Millisecond)
		s.wantHeld(true)
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(1100 * time.Microsecond)
		s.wantHeld(false)

		net := s.tap()
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			defer time.Sleep(5 * time.Millisecond)
			return send(commands...)
		})
		h = must(m.Lock(ctx, redlatch.WithCohort(4*time.Millisecond)))
		_ = h.Unlock(ctx)
		time.Sleep(3900 * time.Microsecond)
		s.wantHeld(true)
		time.Sleep(200 * time.Microsecond)
		s.wantHeld(false)
	})
}

// Whoever is first in line asks, when the one before has given up.
func TestTheNextInLineAsksWhenTheFirstGivesUp(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		held := must(s.stranger().Mutex("job").Lock(ctx))
		errs := make(chan error, 2)
		for _, wait := range []time.Duration{time.Second, 10 * time.Second} {
			go func() {
				_, err := m.Lock(ctx, passing, redlatch.WithWait(wait))
				errs <- err
			}()
			synctest.Wait()
		}
		is(t, "the first Lock", <-errs, redlatch.ErrNotAcquired)
		began := time.Now()
		_ = held.Unlock(ctx)
		is(t, "the second Lock", <-errs, nil)
		within(t, "its wait", time.Since(began), 0, 10*time.Millisecond)
	})
}

// Goal: tokens grow from turn to turn and from process to process, in either way of counting.
func TestTokensOfACohortGrow(t *testing.T) {
	for _, clock := range []bool{false, true} {
		cfg := redlatch.Config{TokenClock: clock}
		story(t, cfg, func(t *testing.T, s *stage) {
			ctx, other := s.limited(), s.other(cfg)
			last := int64(0)
			grows := func(c *redlatch.Client, opts ...redlatch.LockOption) {
				h := must(c.Mutex("job").Lock(ctx, append(opts, redlatch.WithFencing())...))
				if h.Token() <= last {
					t.Errorf("after %d the token is %d", last, h.Token())
				}
				last = h.Token()
				_ = h.Unlock(ctx)
			}
			for range 5 {
				for range 100 {
					grows(s.client, passing)
				}
				grows(other)
				grows(other, passing)
			}
			if clock && last < time.Now().UnixMicro() || !clock && last > 5*(2*100+16)+5*17 {
				t.Errorf("after 510 grants the token is %d", last)
			}
		})
	}
}

// Options that a cohort cannot keep are refused.
func TestACohortRefusesWhatItCannotKeep(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		for name, lock := range map[string]func() (*redlatch.Hold, error){
			"less than 1 ms": func() (*redlatch.Hold, error) { return m.Lock(s.limited(), redlatch.WithCohort(time.Microsecond)) },
			"a fixed lease":  func() (*redlatch.Hold, error) { return m.Lock(s.limited(), passing, redlatch.WithLease(time.Second)) },
			"a longest hold": func() (*redlatch.Hold, error) {
				return m.TryLock(s.limited(), redlatch.WithMaxHold(time.Second), passing)
			},
			"tokens of readers": func() (*redlatch.Hold, error) {
				return s.client.RWMutex("job").RLock(s.limited(), redlatch.WithFencing(), passing)
			},
			"a fair lock": func() (*redlatch.Hold, error) { return s.client.FairMutex("job").Lock(s.limited(), passing) },
			"a Multi":     func() (*redlatch.Hold, error) { return redlatch.NewMulti(m).Lock(s.limited(), passing) },
			"a Quorum":    func() (*redlatch.Hold, error) { return redlatch.NewQuorum(m).TryLock(s.limited(), passing) },
		} {
			_, err := lock()
			if refused, ok := errors.AsType[*redlatch.ConfigError](err); !ok || refused.Field != "WithCohort" {
				t.Errorf("%s is %v", name, err)
			}
		}
		s.wantHeld(false)
	})
}

package cohorts_test

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
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A lock that is passed on in memory.

// passing is the option of the stories.
var passing = redlatch.WithCohort(stage.Stay)

// wantHeld fails unless the server has the lock, or has it not.
func wantHeld(s *stage.Stage, want bool) {
	s.Helper()
	if got := s.Memory.Miniredis().Exists("job"); got != want {
		s.Errorf("in Redis the lock is held: %v, want %v", got, want)
	}
}

// Goal: what is passed on costs Redis nothing. Method: eight goroutines take the lock in turn, and
// a counter that only the lock guards.
func TestACohortPassesTheLockOnInTheOrderOfArrival(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		first := check.Must(m.Lock(ctx, passing))
		var all sync.WaitGroup
		var order []int
		for i := range 8 {
			all.Go(func() {
				h := check.Must(m.Lock(ctx, passing, redlatch.WithWait(time.Duration(1+i)*time.Minute)))
				order = append(order, i)
				_ = h.Unlock(ctx)
			})
			synctest.Wait()
		}
		if n := s.Client.Stats().Waiters; n != 8 {
			t.Errorf("%d wait", n)
		}
		before := s.Driver.Scripts.Load()
		if err := first.Unlock(ctx); err != nil {
			t.Error(err)
		}
		all.Wait()
		if n := s.Driver.Scripts.Load() - before; n != 0 || !slices.IsSorted(order) || len(order) != 8 {
			t.Errorf("%d requests, in the order %v", n, order)
		}
		wantHeld(s, true)
		time.Sleep(2 * time.Millisecond)
		wantHeld(s, false)
		if st := s.Client.Stats(); st.Holds != 0 || st.Waiters != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// Others get the lock when its time is over, although somebody of the cohort always wants it.
func TestACohortGivesTheLockToOthersWhenItsTimeIsOver(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		over, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for over.Err() == nil {
					h := check.Must(m.Lock(ctx, passing))
					time.Sleep(time.Millisecond)
					_ = h.Unlock(ctx)
				}
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		h := check.Must(s.Stranger().Mutex("job").Lock(ctx))
		check.Within(t, "the wait of another process", time.Since(began), 0, stage.Stay+10*time.Millisecond)
		_ = h.Unlock(ctx)
		stop()
		all.Wait()
	})
}

// The time counts from when the lock was really taken. A hold that was passed on does not renew it.
func TestATurnThatComesTooLateAsksRedis(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		owners := map[string]int{}
		for range 4 {
			h := check.Must(m.Lock(ctx, passing))
			owners[h.Owner()]++
			next := make(chan *redlatch.Hold)
			go func() { next <- check.Must(m.Lock(ctx, passing)) }()
			time.Sleep(stage.Stay - time.Millisecond)
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
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		h := check.Must(m.Lock(ctx, passing))
		next := make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx, passing, redlatch.WithWait(time.Second))
			next <- err
		}()
		time.Sleep(stage.Stay)
		_ = h.Unlock(ctx)
		check.Is(t, "the next Lock", <-next, nil)
	})
}

// Goal: what nobody wants is kept for a moment, and no longer than the time of the cohort allows. It
// is never released below a turn.
func TestALockThatNobodyWantsIsKeptForAMoment(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		for _, at := range []time.Duration{0, 900 * time.Microsecond} {
			time.Sleep(at)
			_ = check.Must(m.Lock(ctx, passing)).Unlock(ctx)
		}
		time.Sleep(900 * time.Microsecond)
		wantHeld(s, true)
		h := check.Must(m.Lock(ctx, passing))
		time.Sleep(5 * time.Millisecond)
		wantHeld(s, true)
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(1100 * time.Microsecond)
		wantHeld(s, false)

		net := s.Tap()
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			defer time.Sleep(5 * time.Millisecond)
			return send(commands...)
		})
		h = check.Must(m.Lock(ctx, redlatch.WithCohort(4*time.Millisecond)))
		_ = h.Unlock(ctx)
		time.Sleep(3900 * time.Microsecond)
		wantHeld(s, true)
		time.Sleep(200 * time.Microsecond)
		wantHeld(s, false)
	})
}

// Goal: tokens grow from turn to turn and from process to process, in either way of counting.
func TestTokensOfACohortGrow(t *testing.T) {
	for _, clock := range []bool{false, true} {
		cfg := redlatch.Config{TokenClock: clock}
		stage.Story(t, cfg, func(t *testing.T, s *stage.Stage) {
			ctx, other := s.Limited(), s.Other(cfg)
			last := int64(0)
			grows := func(c *redlatch.Client, opts ...redlatch.LockOption) {
				h := check.Must(c.Mutex("job").Lock(ctx, append(opts, redlatch.WithFencing())...))
				if h.Token() <= last {
					t.Errorf("after %d the token is %d", last, h.Token())
				}
				last = h.Token()
				_ = h.Unlock(ctx)
			}
			for range 5 {
				for range 100 {
					grows(s.Client, passing)
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
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		for name, lock := range map[string]func() (*redlatch.Hold, error){
			"less than 1 ms": func() (*redlatch.Hold, error) { return m.Lock(s.Limited(), redlatch.WithCohort(time.Microsecond)) },
			"a fixed lease":  func() (*redlatch.Hold, error) { return m.Lock(s.Limited(), passing, redlatch.WithLease(time.Second)) },
			"a longest hold": func() (*redlatch.Hold, error) {
				return m.TryLock(s.Limited(), redlatch.WithMaxHold(time.Second), passing)
			},
			"tokens of readers": func() (*redlatch.Hold, error) {
				return s.Client.RWMutex("job").RLock(s.Limited(), redlatch.WithFencing(), passing)
			},
			"an owner":    func() (*redlatch.Hold, error) { return m.Lock(s.Client.WithOwner(s.Limited()), passing) },
			"a fair lock": func() (*redlatch.Hold, error) { return s.Client.FairMutex("job").Lock(s.Limited(), passing) },
			"a Multi":     func() (*redlatch.Hold, error) { return check.Must(redlatch.NewMulti(m)).Lock(s.Limited(), passing) },
			"a Quorum":    func() (*redlatch.Hold, error) { return check.Must(redlatch.NewQuorum(m)).TryLock(s.Limited(), passing) },
		} {
			_, err := lock()
			if refused, ok := errors.AsType[*redlatch.ConfigError](err); !ok || refused.Field != "WithCohort" {
				t.Errorf("%s is %v", name, err)
			}
		}
		wantHeld(s, false)
	})
}

func TestACohortTellsOfADeadlock(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		h := check.Must(m.Lock(s.Limited(), passing))
		for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
			_, err := m.Lock(h.Context(), opts...)
			check.Is(t, "Lock below the hold's context", err, redlatch.ErrReentry)
		}
		_ = h.Unlock(s.Limited())
		if cause := context.Cause(h.Context()); !errors.Is(cause, redlatch.ErrReleased) {
			t.Errorf("the context ended with %v", cause)
		}
	})
}

// Goal: the lock is passed on for no longer than the lease that replicas confirmed, although the hold is renewed while they are
// waited for. Method: the replica needs longer than a renewal takes to come.
func TestACohortPassesOnWhatReplicasConfirmed(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, began := s.Limited(), time.Now()
		m := s.On(stage.Lagging{Driver: s.Driver, Lag: 12 * time.Second}, redlatch.Config{LeaseTime: 30 * time.Second}).Mutex("job")
		lock := func() *redlatch.Hold {
			return check.Must(m.Lock(ctx, redlatch.WithCohort(time.Minute), redlatch.WithReplicas(1, time.Minute)))
		}
		h, passed := lock(), time.Duration(0)
		for first := h.Owner(); h.Owner() == first; {
			passed = time.Since(began)
			next := make(chan *redlatch.Hold)
			go func() { next <- lock() }()
			time.Sleep(500 * time.Millisecond)
			_ = h.Unlock(ctx)
			h = <-next
		}
		check.Within(t, "the time up to the last turn", passed, 29*time.Second, 30*time.Second)
		_ = h.Unlock(ctx)
	})
}

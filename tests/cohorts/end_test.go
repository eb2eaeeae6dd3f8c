package cohorts_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/signal"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// How turns of a cohort end, and its waits.

// Goal: a turn learns of the loss like any hold, and so do all readers. The next one asks Redis.
func TestTheLossOfACohortsHoldEndsItsTurns(t *testing.T) {
	stage.Story(t, redlatch.Config{LeaseTime: 3 * time.Second}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.RWMutex("job")
		one, other := check.Must(m.RLock(ctx, passing)), check.Must(m.RLock(ctx, passing))
		if one.Owner() != other.Owner() {
			t.Error("two readers have a hold each in Redis")
		}
		s.Memory.Miniredis().FlushAll()
		time.Sleep(3 * time.Second)
		for _, h := range []*redlatch.Hold{one, other} {
			select {
			case <-h.Done():
			default:
				t.Error("the loss is not told")
			}
			check.Is(t, "Err", h.Err(), redlatch.ErrLost)
			check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		}
		again := check.Must(m.RLock(ctx, passing))
		if again.Owner() == one.Owner() || again.Err() != nil {
			t.Errorf("after the loss there is %v", again)
		}
		_ = again.Unlock(ctx)
	})
}

// The end of one reader leaves the lock to the others, and Detach too.
func TestAReaderOfACohortEndsAlone(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.RWMutex("job")
		one, two, three := check.Must(m.RLock(ctx, passing)), check.Must(m.RLock(ctx, passing)), check.Must(m.RLock(ctx, passing))
		if err := errors.Join(one.Unlock(ctx), two.Err()); err != nil {
			t.Error(err)
		}
		two.Detach()
		check.Is(t, "after Detach", two.Err(), redlatch.ErrReleased)
		if err := errors.Join(three.Err(), two.Unlock(ctx)); err != nil {
			t.Error(err)
		}
		next := check.Must(m.RLock(ctx, passing))
		if next.Owner() == three.Owner() {
			t.Error("a turn began on a hold that is to end by itself")
		}
		_ = next.Unlock(ctx)
		if err := three.Unlock(ctx); err != nil {
			t.Error(err)
		}
		wantHeld(s, true)
		time.Sleep(31 * time.Second)
		wantHeld(s, false)
	})
}

// A hold that has ended has no say over the hold in Redis, which serves the next turn.
func TestDetachOfATurnThatIsOverLeavesTheNextOneAlone(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.Mutex("job")
		first := check.Must(m.Lock(ctx, passing))
		_ = first.Unlock(ctx)
		next := check.Must(m.Lock(ctx, passing))
		first.Detach()
		if err := next.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Millisecond)
		wantHeld(s, false)
	})
}

// Whether a pause has cost a turn its lock is known only when Redis has been asked.
func TestATurnThatIsUnconfirmedAsksRedisAtItsEnd(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := context.WithoutCancel(t.Context())
		h := check.Must(s.Client.Mutex("job").Lock(ctx, passing))
		end := s.StallRenewals()
		synctest.Wait()
		time.Sleep(62 * time.Second)
		s.Memory.Miniredis().Del("job")
		rival := check.Must(s.Other(redlatch.Config{}).Mutex("job").Lock(ctx))
		check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		end()
		_ = rival.Unlock(ctx)
	})
}

// Nobody joins readers whose time has run out, also if nobody has told them yet.
func TestNoTurnBeginsWhenTheLeaseIsOver(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Limited(), s.Client.RWMutex("job")
		long := redlatch.WithCohort(time.Hour)
		check.Must(m.RLock(ctx, long))
		defer s.StallRenewals()()
		time.Sleep(31 * time.Second)
		w := check.Must(s.Stranger().RWMutex("job").Lock(ctx))
		_, err := m.RLock(ctx, long, redlatch.WithWait(0))
		check.Is(t, "RLock", err, redlatch.ErrNotAcquired)
		_ = w.Unlock(ctx)
	})
}

// A caller that is gone gets nothing, also if the lock is passed on to it at that moment.
func TestAWaiterOfACohortThatIsGonePassesTheLockOn(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		h := check.Must(m.Lock(s.Limited(), passing))
		ctx, cancel := context.WithCancel(s.Limited())
		gone := make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx, passing)
			gone <- err
		}()
		synctest.Wait()
		signal.Arrange(func(arrive func()) { cancel(); arrive() })
		defer signal.Arrange(nil)
		_ = h.Unlock(s.Limited())
		check.Is(t, "Lock", <-gone, redlatch.ErrNotAcquired, context.Canceled)
		_, err := m.TryLock(s.Limited(), passing)
		check.Is(t, "TryLock", err, nil)
	})
}

// Goal: whoever takes the old hold of a cohort out of the books releases it. Method: on real goroutines, a client
// shuts down in the moment in which the next in line is told to replace that hold.
func TestShutdownEndsAHoldThatIsJustReplaced(t *testing.T) {
	for range redistest.Stretch(300) {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			m := s.Client.Mutex("job")
			h := check.Must(m.Lock(s.Limited(), passing))
			waited := make(chan error, 1)
			go func() { waited <- check.ErrOf(m.Lock(s.Limited(), passing)) }()
			time.Sleep(stage.Stay)
			_ = h.Unlock(s.Limited())
			limited, cancel := context.WithTimeout(s.Limited(), 10*time.Second)
			defer cancel()
			began, failed := time.Now(), make(chan error, 1)
			go func() { failed <- s.Client.Shutdown(limited) }()
			if h := <-waited; h != nil && !errors.Is(h, redlatch.ErrClosed) {
				t.Error("Lock:", h)
			} else if h == nil {
				return // it was there before Shutdown, which waits for its Unlock
			}
			check.Is(t, "Shutdown", <-failed, nil)
			check.Within(t, "Shutdown", time.Since(began), 0, time.Second)
		})
	}
}

// Close releases what a cohort keeps for a moment.
func TestCloseReleasesALockThatACohortKeeps(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		_ = check.Must(s.Client.Mutex("job").Lock(s.Limited(), passing)).Unlock(s.Limited())
		wantHeld(s, true)
		check.Is(t, "Close", s.Client.Close(s.Limited()), nil)
		wantHeld(s, false)
	})
}

// Goal: the last Unlock of readers frees the lock, also if another reader was detached before.
func TestDetachOfAReaderLeavesTheReleaseToTheLast(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		l := s.Client.RWMutex("job").RLocker()
		one, other := check.Must(l.Lock(s.Limited(), passing)), check.Must(l.Lock(s.Limited(), passing))
		one.Detach()
		check.Is(t, "Unlock", other.Unlock(s.Limited()), nil)
		wantHeld(s, false)
	})
}

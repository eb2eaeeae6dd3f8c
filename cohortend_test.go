package redlatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/signal"
)

// How turns of a cohort end, and its waits.

// Goal: a turn learns of the loss like any hold, and so do all readers. The next one asks Redis.
func TestTheLossOfACohortsHoldEndsItsTurns(t *testing.T) {
	story(t, redlatch.Config{LeaseTime: 3 * time.Second}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.RWMutex("job")
		one, other := must(m.RLock(ctx, passing)), must(m.RLock(ctx, passing))
		if one.Owner() != other.Owner() {
			t.Error("two readers have a hold each in Redis")
		}
		s.memory.Miniredis().FlushAll()
		time.Sleep(3 * time.Second)
		for _, h := range []*redlatch.Hold{one, other} {
			select {
			case <-h.Done():
			default:
				t.Error("the loss is not told")
			}
			is(t, "Err", h.Err(), redlatch.ErrLost)
			is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		}
		again := must(m.RLock(ctx, passing))
		if again.Owner() == one.Owner() || again.Err() != nil {
			t.Errorf("after the loss there is %v", again)
		}
		_ = again.Unlock(ctx)
	})
}

// The end of one reader leaves the lock to the others, and Detach too.
func TestAReaderOfACohortEndsAlone(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.RWMutex("job")
		one, two, three := must(m.RLock(ctx, passing)), must(m.RLock(ctx, passing)), must(m.RLock(ctx, passing))
		if err := errors.Join(one.Unlock(ctx), two.Err()); err != nil {
			t.Error(err)
		}
		two.Detach()
		is(t, "after Detach", two.Err(), redlatch.ErrReleased)
		if err := errors.Join(three.Err(), two.Unlock(ctx)); err != nil {
			t.Error(err)
		}
		next := must(m.RLock(ctx, passing))
		if next.Owner() == three.Owner() {
			t.Error("a turn began on a hold that is to end by itself")
		}
		_ = next.Unlock(ctx)
		if err := three.Unlock(ctx); err != nil {
			t.Error(err)
		}
		s.wantHeld(true)
		time.Sleep(31 * time.Second)
		s.wantHeld(false)
	})
}

// Whoever waits leaves when its time is up, whether it is in line, is asking, or is let in.
func TestWaitersOfACohortLeave(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		held := must(s.stranger().Mutex("job").Lock(s.limited()))
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() { // the first one asks, the others are in line
				ctx, cancel := context.WithTimeout(s.limited(), time.Second+time.Duration(2-i)*time.Millisecond)
				defer cancel()
				_, err := m.Lock(ctx, passing)
				is(t, "Lock", err, redlatch.ErrNotAcquired, context.DeadlineExceeded)
			})
			synctest.Wait()
		}
		_, err := m.TryLock(s.limited(), passing)
		is(t, "TryLock", err, redlatch.ErrNotAcquired)
		all.Wait()
		if n := s.client.Stats().Waiters; n != 0 {
			t.Errorf("%d wait", n)
		}
		began := time.Now()
		go func() { time.Sleep(time.Second); _ = held.Unlock(s.limited()) }()
		h := must(m.Lock(s.limited(), passing, redlatch.WithWait(2*time.Second)))
		within(t, "the wait", time.Since(began), time.Second, time.Second+10*time.Millisecond)
		_, err = m.Lock(s.limited(), passing, redlatch.WithWait(time.Second))
		is(t, "Lock with a wait", err, redlatch.ErrNotAcquired)
		_ = h.Unlock(s.limited())
	})
}

// Close releases what a cohort holds, and ends its waits.
func TestCloseEndsACohort(t *testing.T) {
	for _, idle := range []bool{false, true} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			m := s.client.Mutex("job")
			h := must(m.Lock(s.limited(), passing))
			failed := make(chan error, 2)
			if idle {
				_ = h.Unlock(s.limited())
				close(failed)
			} else {
				for range cap(failed) {
					go func() {
						_, err := m.Lock(s.limited(), passing)
						failed <- err
					}()
				}
				synctest.Wait()
			}
			if err := s.client.Close(s.limited()); err != nil {
				t.Error("Close:", err)
			}
			s.wantHeld(false)
			synctest.Wait()
			if !idle && len(failed) != cap(failed) {
				t.Errorf("%d of %d who wait were told", len(failed), cap(failed))
			}
			for range len(failed) {
				is(t, "Lock", <-failed, redlatch.ErrClosed)
			}
			is(t, "the hold", h.Err(), redlatch.ErrReleased)
			if err := h.Unlock(s.limited()); err != nil {
				t.Error("Unlock:", err)
			}
			_, err := m.Lock(s.limited(), passing)
			is(t, "Lock after Close", err, redlatch.ErrClosed)
		})
	}
}

// A hold that has ended has no say over the hold in Redis, which serves the next turn.
func TestDetachOfATurnThatIsOverLeavesTheNextOneAlone(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.Mutex("job")
		first := must(m.Lock(ctx, passing))
		_ = first.Unlock(ctx)
		next := must(m.Lock(ctx, passing))
		first.Detach()
		if err := next.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Millisecond)
		s.wantHeld(false)
	})
}

// Whether a pause has cost a turn its lock is known only when Redis has been asked.
func TestATurnThatIsUnconfirmedAsksRedisAtItsEnd(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx := context.WithoutCancel(t.Context())
		h := must(s.client.Mutex("job").Lock(ctx, passing))
		end := s.stallRenewals()
		synctest.Wait()
		time.Sleep(62 * time.Second)
		s.memory.Miniredis().Del("job")
		rival := must(s.other(redlatch.Config{}).Mutex("job").Lock(ctx))
		is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		end()
		_ = rival.Unlock(ctx)
	})
}

// After the last hold is detached, nobody renews the lock.
func TestDetachOfTheLastTurnLetsTheLockExpire(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.Mutex("job").Lock(s.limited(), passing))
		h.Detach()
		time.Sleep(time.Second)
		s.wantHeld(true)
		time.Sleep(30 * time.Second)
		s.wantHeld(false)
	})
}

// Nobody joins readers whose time has run out, also if nobody has told them yet.
func TestNoTurnBeginsWhenTheLeaseIsOver(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.limited(), s.client.RWMutex("job")
		long := redlatch.WithCohort(time.Hour)
		must(m.RLock(ctx, long))
		defer s.stallRenewals()()
		time.Sleep(31 * time.Second)
		w := must(s.stranger().RWMutex("job").Lock(ctx))
		_, err := m.RLock(ctx, long, redlatch.WithWait(0))
		is(t, "RLock", err, redlatch.ErrNotAcquired)
		_ = w.Unlock(ctx)
	})
}

// A caller that is gone gets nothing, also if the lock is passed on to it at that moment.
func TestAWaiterOfACohortThatIsGonePassesTheLockOn(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		h := must(m.Lock(s.limited(), passing))
		ctx, cancel := context.WithCancel(s.limited())
		gone := make(chan error, 1)
		go func() {
			_, err := m.Lock(ctx, passing)
			gone <- err
		}()
		synctest.Wait()
		signal.Arrange(func(arrive func()) { cancel(); arrive() })
		defer signal.Arrange(nil)
		_ = h.Unlock(s.limited())
		is(t, "Lock", <-gone, redlatch.ErrNotAcquired, context.Canceled)
		_, err := m.TryLock(s.limited(), passing)
		is(t, "TryLock", err, nil)
	})
}

package redlatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// What a hold is between the end of a pause and the first answer. The pause is one of the
// renewal loop alone (StallRenewals); the rest of the process can be watched meanwhile.

// unconfirmed is a story of a hold whose deadline has passed in a pause. What Redis has under
// its name is up to the story; resume ends the pause.
func unconfirmed(t *testing.T, tell func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func())) {
	t.Helper()
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx := s.client.WithOwner(context.WithoutCancel(t.Context()))
		h := must(s.client.Mutex("job").Lock(ctx))
		end := s.stallRenewals()
		synctest.Wait() // the loop is held up
		s.memory.Miniredis().SetTTL("job", time.Hour)
		time.Sleep(62 * time.Second)
		resume := sync.OnceFunc(func() { end(); synctest.Wait() })
		defer resume()
		tell(t, s, ctx, h, resume)
	})
}

func wantUnconfirmed(t *testing.T, h *redlatch.Hold) {
	t.Helper()
	if h.Valid() || h.Err() != nil || h.Context().Err() != nil {
		t.Errorf("unconfirmed: valid %v, Err %v, context %v", h.Valid(), h.Err(), h.Context().Err())
	}
	select {
	case <-h.Done():
		t.Error("unconfirmed: it is done")
	default:
	}
}

func TestAHoldInDoubtLivesOnWhenRedisHasIt(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		wantUnconfirmed(t, h)
		resume()
		if !h.Valid() || h.Context().Err() != nil {
			t.Errorf("after the answer: valid %v, Err %v", h.Valid(), h.Err())
		}
		within(t, "rescued", s.client.Stats().Rescued, 1, 1)
		time.Sleep(10 * time.Minute)
		if !h.Valid() {
			t.Error("ten minutes later:", h.Err())
		}
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestAHoldInDoubtIsLostWhenRedisHasAnother(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.memory.Miniredis().Del("job")
		rival := must(s.other(redlatch.Config{}).Mutex("job").Lock(t.Context()))
		wantUnconfirmed(t, h)
		resume()
		is(t, "Err", h.Err(), redlatch.ErrLost)
		is(t, "the cause", context.Cause(h.Context()), redlatch.ErrLost)
		is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		if err := rival.Unlock(t.Context()); err != nil {
			t.Error("the rival:", err)
		}
	})
}

func TestAHoldInDoubtIsLostWhenRedisDoesNotAnswer(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.driver.spoil(func([]string) fate { return isLost })
		began := time.Now()
		resume()
		wantUnconfirmed(t, h)
		<-h.Done()
		within(t, "time unconfirmed", time.Since(began), 3*time.Second, 3*time.Second)
		is(t, "Err", h.Err(), redlatch.ErrLost)
		s.driver.spoil(nil)
	})
}

func TestAHoldInDoubtIsUnlockedWhenRedisHasIt(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		is(t, "Err", h.Err(), redlatch.ErrReleased)
		if s.memory.Miniredis().Exists("job") {
			t.Error("the lock is still there")
		}
		resume()
		s.wantSession("released", nil)
	})
}

func TestAHoldInDoubtThatIsGoneCannotBeUnlocked(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.memory.Miniredis().Del("job")
		is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	})
}

// Usually a repeated release that finds nothing has found what the first one left. In
// that state, nobody knows whether there was anything.
func TestALostReplyToTheReleaseOfAHoldInDoubtIsALoss(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.memory.Miniredis().Del("job")
		s.driver.spoil(once(losesAnswer))
		is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	})
}

func TestReenteringAHoldInDoubtSettlesIt(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		inner, err := s.client.Mutex("job").Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !h.Valid() || !inner.Valid() {
			t.Errorf("valid are %v and %v", h.Valid(), inner.Valid())
		}
		resume()
		_ = inner.Unlock(ctx)
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
	unconfirmed(t, func(t *testing.T, s *stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.memory.Miniredis().Del("job")
		_, err := s.client.Mutex("job").Lock(ctx)
		is(t, "Lock", err, redlatch.ErrLost)
		is(t, "Err", h.Err(), redlatch.ErrLost)
		resume()
		s.wantSession("lost", nil)
	})
}

func TestAPausedHoldIsLostAtOnceWhereNoWatchdogIsAlive(t *testing.T) {
	story(t, redlatch.Config{Protect: true}, func(t *testing.T, s *stage) {
		h := must(s.client.Mutex("job").Lock(t.Context()))
		end := s.stallRenewals()
		defer end()
		synctest.Wait()
		s.memory.Miniredis().SetTTL("job", time.Hour)
		time.Sleep(62 * time.Second)
		is(t, "Err", h.Err(), redlatch.ErrLost) // said by whoever looks, like without Protect
	})
}

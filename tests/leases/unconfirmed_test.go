package leases_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a hold is between the end of a pause and the first answer. The pause is one of the
// renewal loop alone (StallRenewals); the rest of the process can be watched meanwhile.

// unconfirmed is a story of a hold whose deadline has passed in a pause. What Redis has under
// its name is up to the story; resume ends the pause.
func unconfirmed(t *testing.T, tell func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func())) {
	t.Helper()
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := s.Client.WithOwner(context.WithoutCancel(t.Context()))
		h := check.Must(s.Client.Mutex("job").Lock(ctx))
		end := s.StallRenewals()
		synctest.Wait() // the loop is held up
		s.Memory.Miniredis().SetTTL("job", time.Hour)
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
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		wantUnconfirmed(t, h)
		resume()
		if !h.Valid() || h.Context().Err() != nil {
			t.Errorf("after the answer: valid %v, Err %v", h.Valid(), h.Err())
		}
		check.Within(t, "rescued", s.Client.Stats().Rescued, 1, 1)
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
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.Memory.Miniredis().Del("job")
		rival := check.Must(s.Other(redlatch.Config{}).Mutex("job").Lock(t.Context()))
		wantUnconfirmed(t, h)
		resume()
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		check.Is(t, "the cause", context.Cause(h.Context()), redlatch.ErrLost)
		check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
		if err := rival.Unlock(t.Context()); err != nil {
			t.Error("the rival:", err)
		}
	})
}

func TestAHoldInDoubtIsLostWhenRedisDoesNotAnswer(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
		began := time.Now()
		resume()
		wantUnconfirmed(t, h)
		<-h.Done()
		check.Within(t, "time unconfirmed", time.Since(began), 3*time.Second, 3*time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		s.Driver.Spoil(nil)
	})
}

func TestAHoldInDoubtIsUnlockedWhenRedisHasIt(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
		check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
		if s.Memory.Miniredis().Exists("job") {
			t.Error("the lock is still there")
		}
		resume()
		wantSession(s, "released", nil)
	})
}

func TestAHoldInDoubtThatIsGoneCannotBeUnlocked(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.Memory.Miniredis().Del("job")
		check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	})
}

// Usually a repeated release that finds nothing has found what the first one left. In
// that state, nobody knows whether there was anything.
func TestALostReplyToTheReleaseOfAHoldInDoubtIsALoss(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.Memory.Miniredis().Del("job")
		s.Driver.Spoil(stage.Once(stage.AnswerLost))
		check.Is(t, "Unlock", h.Unlock(ctx), redlatch.ErrLost)
	})
}

func TestReenteringAHoldInDoubtSettlesIt(t *testing.T) {
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		inner := check.Must(s.Client.Mutex("job").Lock(ctx))
		if !h.Valid() || !inner.Valid() {
			t.Errorf("valid are %v and %v", h.Valid(), inner.Valid())
		}
		resume()
		_ = inner.Unlock(ctx)
		if err := h.Unlock(ctx); err != nil {
			t.Error(err)
		}
	})
	unconfirmed(t, func(t *testing.T, s *stage.Stage, ctx context.Context, h *redlatch.Hold, resume func()) {
		s.Memory.Miniredis().Del("job")
		_, err := s.Client.Mutex("job").Lock(ctx)
		check.Is(t, "Lock", err, redlatch.ErrLost)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		resume()
		wantSession(s, "lost", nil)
	})
}

func TestAPausedHoldIsLostAtOnceWhereNoWatchdogIsAlive(t *testing.T) {
	stage.Story(t, redlatch.Config{Protect: true}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context()))
		end := s.StallRenewals()
		defer end()
		synctest.Wait()
		s.Memory.Miniredis().SetTTL("job", time.Hour)
		time.Sleep(62 * time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost) // said by whoever looks, like without Protect
	})
}

package leader_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: Started may unlock its hold, and has resigned when it returns. It does not lead again at once.
func TestALeaderThatUnlocksHasResigned(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		terms := 0
		c.cb.Started = func(ctx context.Context, h *redlatch.Hold) {
			if terms++; terms < 10 { // further ones would be for ever
				_ = h.Unlock(ctx)
			}
		}
		c.stand(t)
		if err := next(t, "the end of Run", c.result); err != nil || terms != 1 {
			t.Errorf("it led %d times, and Run returned: %v", terms, err)
		}
		if err := next(t, "Stopped", c.stopped); err != nil {
			t.Error("Stopped got:", err)
		}
	})
}

// Goal: a leadership that was lost stays one, also if Started unlocks its hold then.
func TestALostLeaderThatUnlocksStandsAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{})
		working := c.cb.Started
		c.cb.Started = func(ctx context.Context, h *redlatch.Hold) {
			working(ctx, h)
			_ = h.Unlock(ctx)
		}
		c.stand(t)
		next(t, "it leads", c.started)
		s.Lose("leader")
		if err := next(t, "Stopped", c.stopped); !errors.Is(err, redlatch.ErrLost) {
			t.Error("Stopped got:", err)
		}
		next(t, "it leads again", c.started)
	})
}

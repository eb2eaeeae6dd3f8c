package leader_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/redlatchtest"
)

// endsAhead waits for the end of a leadership, and checks how long before the end of the hold that was.
func endsAhead(t *testing.T, c *candidate, hold *redlatch.Hold, want time.Duration) {
	t.Helper()
	next(t, "the end of its context", next(t, "its context", c.work).Done())
	if left := time.Until(hold.Deadline()); left < want-100*time.Millisecond || left > want+time.Second {
		t.Errorf("its context ended %v before its lease, want %v", left, want)
	}
}

// Goal: a longest time that ends soon after a lease leaves Started its time, too.
func TestALeaderStepsDownBeforeItsLongestTimeEnds(t *testing.T) {
	for _, longest := range []time.Duration{31 * time.Second, 32 * time.Second, 34 * time.Second, 36 * time.Second, time.Minute} {
		t.Run(longest.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *redlatchtest.Server) {
				c := newCandidate(s, redlatch.Config{}).stand(t, redlatch.WithMaxHold(longest))
				endsAhead(t, c, next(t, "it leads", c.started), 5*time.Second)
			})
		})
	}
}

// Goal: a leader that is asked for its lock ends its work, and leaves the lock to others for a while, and not for good.
func TestALeaderThatIsAskedStepsDown(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		operator := s.Client(redlatch.Config{Name: "ops@host"})
		first, second := newCandidate(s, redlatch.Config{LeaseTime: time.Minute}), newCandidate(s, redlatch.Config{})
		working := first.cb.Started
		first.cb.Started = func(ctx context.Context, h *redlatch.Hold) {
			working(ctx, h)
			time.Sleep(20 * time.Second) // which its work needs
			if !h.Valid() || len(second.started) > 0 {
				t.Error("the lock was gone before the work ended:", h.Err())
			}
		}
		first.stand(t)
		ask := func() {
			t.Helper()
			if asked, err := operator.Mutex("leader").Recall(t.Context(), next(t, "it leads", first.started).Owner(), "deploy 4711"); !asked || err != nil {
				t.Fatal(asked, err)
			}
			work := next(t, "its context", first.work)
			next(t, "the end of its context", work.Done())
			if !errors.Is(context.Cause(work), redlatch.ErrRecalled) {
				t.Error("its context ended with", context.Cause(work))
			}
			why, _ := errors.AsType[*redlatch.RecalledError](next(t, "Stopped", first.stopped))
			if why == nil || why.Author != "ops@host" || why.Reason != "deploy 4711" {
				t.Error("Stopped got:", why)
			}
		}
		ask()
		began := time.Now()
		first.started <- next(t, "it leads again, alone", first.started)
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it leads again after %v", took)
		}
		second.stand(t)
		time.Sleep(time.Second)
		ask()
		next(t, "the second leads", second.started)
		time.Sleep(time.Minute)
		second.stop()
		next(t, "it leads again", first.started)
	})
}

// Goal: likewise for a leader that extends its lease itself.
func TestALeaderThatExtendsStepsDownInTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{}).stand(t, redlatch.WithLease(30*time.Second))
		hold := next(t, "it leads", c.started)
		time.Sleep(2 * time.Second)
		if err := hold.Extend(t.Context(), 30*time.Second); err != nil {
			t.Fatal(err)
		}
		endsAhead(t, c, hold, 5*time.Second)
	})
}

// Goal: an acquisition whose answer took long does not shorten the time of Started for good.
func TestASlowElectionDoesNotShortenTheStepDown(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		c := newCandidate(s, redlatch.Config{CommandTimeout: 25 * time.Second})
		if hold, err := c.lock.Lock(t.Context(), redlatch.WithFencing()); err != nil || hold.Unlock(t.Context()) != nil {
			t.Fatal(err) // the server has the scripts now
		}
		s.Delay(20 * time.Second)
		c.stand(t)
		hold := next(t, "it leads", c.started)
		s.Delay(0)
		time.Sleep(time.Minute)
		s.Freeze()
		endsAhead(t, c, hold, 5*time.Second)
	})
}

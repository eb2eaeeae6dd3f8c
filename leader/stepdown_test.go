package leader_test

import (
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

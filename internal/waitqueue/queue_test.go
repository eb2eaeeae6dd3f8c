package waitqueue_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

func TestAContenderTriesAgainAtTheMomentThatItSetAndNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := asleep(t, h, 1)[0]
		h.Released(channel, false, 0, 0)
		until := time.Now().Add(5 * time.Second)
		tried(t, w, until)
		for range 2 {
			step := w.Next(until.Add(-1))
			if step.Try || !step.Front || !step.At.Equal(until) {
				t.Errorf("a moment before: %+v, want to wait until %v", step, until)
			}
		}
		if !w.Next(until).Try {
			t.Error("it may not try when the moment has come")
		}
	})
}

func TestAfterAGrantTheNextNeedNotTryBeforeItsEndAndAfterAnythingElseTriesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		ws := asleep(t, h, 3)
		end := time.Now().Add(30 * time.Second)
		ws[0].Enter(end)
		if step := ws[1].Next(time.Now()); !woken(ws[1]) || step.Try || !step.Front || !step.At.Equal(end) {
			t.Errorf("after a grant the next one has the step %+v", step)
		}
		ws[1].Leave()
		if step := ws[2].Next(time.Now()); !woken(ws[2]) || !step.Try {
			t.Errorf("after one that left the next one has the step %+v", step)
		}
	})
}

func TestAMessageWakesTheContenderAndNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 3)
		other := h.Join("another", 1, false)
		tried(t, other, far())
		quiet(other)
		tried(t, other, far())
		s.publish(channel)
		time.Sleep(10 * time.Millisecond)
		if !woken(ws[0]) || !ws[0].Next(time.Now()).Try {
			t.Error("the contender was not woken")
		}
		if woken(ws[1]) || woken(ws[2]) || woken(other) || other.Next(time.Now()).Try {
			t.Error("somebody else was woken")
		}
	})
}

func TestAMessageDuringAnAttemptAsksForAnotherOne(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		s.publish(channel)
		quiet(w)
		if !w.Next(time.Now()).Try {
			t.Fatal("not woken")
		}
		s.publish(channel) // while it tries
		time.Sleep(10 * time.Millisecond)
		w.Tried(far())
		if !w.Next(time.Now()).Try {
			t.Error("the message was forgotten")
		}
		w.Tried(far())
		if w.Next(time.Now()).Try {
			t.Error("the message counted twice")
		}
	})
}

// A message that comes while an attempt is under way may be of a release that followed
// the grant: an operator freed the lock, or the lease was short. Whoever is granted
// does not try again, so the next one has to.
func TestAMessageDuringTheAttemptThatIsGrantedReachesTheNext(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 2)
		s.publish(channel)
		quiet(ws...)
		ws[0].Next(time.Now())
		s.publish(channel) // while it tries
		quiet(ws...)
		ws[0].Enter(time.Now().Add(30 * time.Second))
		if step := ws[1].Next(time.Now()); !step.Try {
			t.Errorf("nobody tries for another %v", time.Until(step.At))
		}
	})
}

// What was published before the acknowledgement is lost, so it counts as a message.
func TestTheAcknowledgementOfASubscriptionWakesTheContender(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		a, b := h.Join(channel, 1, false), h.Join(channel, 2, false)
		tried(t, a, far())
		if s.publish(channel); h.Subscribed() != 0 || woken(a) {
			t.Error("acknowledged before it was asked for")
		}
		time.Sleep(10 * time.Millisecond)
		if !woken(a) || woken(b) || h.Subscribed() != 1 {
			t.Errorf("the acknowledgement is to wake the contender alone; %d subscribed", h.Subscribed())
		}
		tried(t, a, far())
		if a.Next(time.Now()).Try {
			t.Error("it tries twice for one acknowledgement")
		}
	})
}

func TestAnAcknowledgementDuringAnAttemptAsksForAnotherOne(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.latency = 100 * time.Millisecond
		w := h.Join(channel, 1, false)
		tried(t, w, time.Now().Add(50*time.Millisecond))
		time.Sleep(50 * time.Millisecond)
		if !w.Next(time.Now()).Try {
			t.Fatal("it is not to try")
		}
		time.Sleep(100 * time.Millisecond) // acknowledged while it tries
		w.Tried(far())
		if !w.Next(time.Now()).Try {
			t.Error("what was published before the acknowledgement would be missed")
		}
	})
}

func TestALocalReleaseWithoutARequestWakesTheContender(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := h.Join(channel, 1, false)
		if !w.Next(time.Now()).Try {
			t.Fatal("it is not to try")
		}
		// The release comes while the waiter tries, so that there is no claim.
		if h.Release(channel, nil, true) != nil {
			t.Fatal("claimed while it tried by itself")
		}
		h.Released(channel, false, 0, time.Second)
		w.Tried(far())
		if !w.Next(time.Now()).Try {
			t.Error("the release was forgotten")
		}
	})
}

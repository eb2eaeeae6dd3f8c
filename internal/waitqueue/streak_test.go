package waitqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Many hand-overs in a row.

// handOver is a release that passes the lock on within the process.
func handOver(t *testing.T, h *waitqueue.Hub, s *station, holder *waitqueue.Waiter, others int) *waitqueue.Waiter {
	t.Helper()
	w := h.Release(channel, holder, true)
	if w == nil {
		return nil
	}
	told := s.publish(channel) + others
	w.Complete("granted", true)
	h.Released(channel, true, told, 0)
	w.Next(time.Now())
	w.Enter(far())
	return w
}

func TestTheLockIsOfferedToOthersAtTheSixteenthReleaseInARow(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 20)
		holder := handedOver(t, h, s, ws[:15])
		if h.Release(channel, holder, true) != nil {
			t.Fatal("handed over at the sixteenth release, though others wait")
		}
		h.Released(channel, false, s.publish(channel)+1, 2*ms)
		released := time.Now()
		w := ws[15]
		if step := w.Next(released); !woken(w) || step.Try || !step.At.Equal(released.Add(20*ms)) {
			t.Errorf("the contender does not hold back: %+v", step)
		}
		time.Sleep(20*ms - 1)
		if w.Next(time.Now()).Try {
			t.Error("our own message ended that")
		}
		time.Sleep(time.Nanosecond)
		tried(t, w, far())
		s.publish(channel)
		quiet(w)
		if !w.Next(time.Now()).Try {
			t.Error("messages are still ignored afterwards")
		}
		w.Enter(far())
		if handOver(t, h, s, w, 1) != ws[16] {
			t.Error("the row does not begin anew")
		}
	})
}

// handedOver hands the lock over to each of these waiters, and returns the last of them.
func handedOver(t *testing.T, h *waitqueue.Hub, s *station, ws []*waitqueue.Waiter) (holder *waitqueue.Waiter) {
	t.Helper()
	for i := range ws {
		if holder = handOver(t, h, s, holder, 1); holder != ws[i] {
			t.Fatalf("hand-over %d went wrong", i)
		}
	}
	return holder
}

func TestTheLockIsNotOfferedWhereNobodyElseListens(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 100)
		var holder *waitqueue.Waiter
		for i := range ws {
			if holder = handOver(t, h, s, holder, 0); holder != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
	})
}

func TestOthersThatCameIntoTheRowAreOfferedTheLockAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 60)
		var holder *waitqueue.Waiter
		for i := range 30 {
			if holder = handOver(t, h, s, holder, 0); holder != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
		holder = handOver(t, h, s, holder, 2) // now somebody else listens
		if h.Release(channel, holder, true) != nil {
			t.Error("handed on although the row is long and others wait")
		}
	})
}

// Goal: others that are offered the lock have a chance. Method: our own message of the release is
// here before its answer is, as often happens: it comes on another connection.
func TestTheMessageOfTheReleaseDoesNotEndTheYieldingBeforeItBegan(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 18)
		holder := handedOver(t, h, s, ws[:15])
		h.Release(channel, holder, true)
		told := s.publish(channel) + 1
		time.Sleep(10 * ms)
		w := ws[15]
		if w.Next(time.Now()).Try {
			t.Fatal("the contender tries before Released")
		}
		h.Released(channel, false, told, 3*ms)
		if step := w.Next(time.Now()); step.Try || time.Until(step.At) != 20*ms {
			t.Errorf("after Released it has the step %+v", step)
		}
	})
}

// Goal: a contender that waits for Released does not wait for ever, nor misses messages then. Method: the
// release finds that others still hold the lock, and Released does not follow; or it finds that
// there is nobody else any more.
func TestAContenderThatWaitsForReleasedGoesOn(t *testing.T) {
	t.Parallel()
	for _, follows := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			ws := asleep(t, h, 18)
			holder := handedOver(t, h, s, ws[:15])
			quiet(ws...)
			h.Release(channel, holder, true)
			w := ws[15]
			if !woken(w) {
				t.Error("it goes by its old moment")
			}
			if follows {
				h.Released(channel, false, 1, 5*ms) // only we were told
			} else {
				time.Sleep(100 * ms)
			}
			tried(t, w, far())
			s.publish(channel)
			quiet(w)
			if !w.Next(time.Now()).Try {
				t.Errorf("follows=%v: it does not react to messages any more", follows)
			}
		})
	}
}

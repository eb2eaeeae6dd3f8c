package wake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/wake"
)

// Hand-over within the process.

func TestAClaimPicksTheContenderAndItsBid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(t)
		if h.Claim(channel) != nil {
			t.Error("claimed in an empty line")
		}
		ws := asleep(t, h, 2)
		w := h.Claim(channel)
		if w != ws[0] || w.Bid != 0 {
			t.Fatal("claimed another than the contender")
		}
		if h.Claim(channel) != nil {
			t.Error("claimed twice")
		}
		if h.Claim("another") != nil {
			t.Error("claimed in another line")
		}
	})
}

func TestAClaimedWaiterSleepsUntilItsClaimIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 2)[0]
		h.Claim(channel)
		s.disconnect()     // acknowledged anew,
		quiet()            //
		s.publish(channel) // and told twice
		s.publish(channel)
		quiet()
		if turn := w.Turn(far().Add(time.Hour)); turn.Try || turn.Front || turn.Result != nil {
			t.Errorf("a claimed waiter has the turn %+v", turn)
		}
		rung(w)
		if !w.Settle("granted") || !rung(w) {
			t.Error("the result was not delivered")
		}
		if turn := w.Turn(time.Now()); turn.Result != "granted" || turn.Try {
			t.Errorf("the turn is %+v, want the result", turn)
		}
		if turn := w.Turn(time.Now()); turn.Result != nil {
			t.Error("the result was delivered twice")
		}
	})
}

func TestAfterAClaimInVainTheContenderGoesOnAsBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 1)[0]
		h.Claim(channel)
		w.Settle("held by another")
		h.Announced(channel, true, true, s.publish(channel), 0)
		quiet(w)
		if turn := w.Turn(time.Now()); turn.Result == nil {
			t.Fatal("no result")
		}
		w.Tried(far())
		if turn := w.Turn(time.Now()); turn.Try || !turn.Front {
			t.Errorf("it has the turn %+v", turn)
		}
		s.publish(channel)
		time.Sleep(10 * time.Millisecond)
		if !rung(w) || !w.Turn(time.Now()).Try {
			t.Error("it is not woken any more")
		}
	})
}

func TestAMessageDuringAClaimIsNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 1)[0]
		h.Claim(channel)
		told := s.publish(channel) // ours
		s.publish(channel)         // of another who came between
		quiet()
		w.Settle("held by another")
		h.Announced(channel, true, true, told, 0)
		rung(w)
		w.Turn(time.Now())
		w.Tried(far())
		if !w.Turn(time.Now()).Try {
			t.Error("the other's message was lost")
		}
	})
}

func TestAClaimedWaiterThatLeavesIsFoundAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(t)
		ws := asleep(t, h, 2)
		w := h.Claim(channel)
		if !w.Leave(time.Time{}) {
			t.Error("Leave does not know of the claim")
		}
		if !rung(ws[1]) || !ws[1].Turn(time.Now()).Try {
			t.Error("the next one was not let in")
		}
		if w.Settle("granted") {
			t.Error("Settle did not notice that the waiter had left")
		}
		if w.Leave(time.Time{}) {
			t.Error("a second Leave found a claim")
		}
		if h.Waiting() != 1 {
			t.Errorf("%d wait", h.Waiting())
		}
	})
}

// Settle has told the releasing goroutine that the result is delivered. The waiter,
// whose time ended in the same moment, must still be able to find it.
func TestAResultSettledBeforeTheWaiterLeftIsStillThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(t)
		w := asleep(t, h, 2)[0]
		h.Claim(channel)
		if !w.Settle("granted") {
			t.Fatal("not delivered")
		}
		if w.Leave(time.Time{}) {
			t.Error("Leave says that Settle will find the claim abandoned, after Settle")
		}
		if turn := w.Turn(time.Now()); turn.Result != "granted" {
			t.Errorf("after Leave the turn is %+v; the grant is lost", turn)
		}
	})
}

// A second grant for the same bid would be a second hold that nobody knows of.
func TestAWaiterWithAResultThatItHasNotSeenIsNotClaimedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := open(t)
		w := asleep(t, h, 2)[0]
		h.Claim(channel)
		w.Settle("granted")
		h.Announced(channel, true, true, 1, 0)
		if h.Claim(channel) != nil {
			t.Error("claimed again before it looked at its result")
		}
	})
}

// handOver is a release that passes the lock on within the process.
func handOver(t *testing.T, h *wake.Hub, s *station, others int) *wake.Waiter {
	t.Helper()
	w := h.Claim(channel)
	if w == nil {
		return nil
	}
	told := s.publish(channel) + others
	w.Settle("granted")
	h.Announced(channel, true, true, told, time.Second)
	w.Turn(time.Now())
	w.Leave(far())
	return w
}

func TestOurOwnMessagesWakeNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 12)
		for i := range 10 {
			if handOver(t, h, s, 0) != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
		rung(ws[10]) // it has become the contender
		time.Sleep(50 * time.Millisecond)
		if rung(ws[10]) || ws[10].Turn(time.Now()).Try {
			t.Error("a message of our own woke the contender, which had been told already")
		}
		s.publish(channel)
		time.Sleep(50 * time.Millisecond)
		if !rung(ws[10]) || !ws[10].Turn(time.Now()).Try {
			t.Error("a message of somebody else was taken for one of ours")
		}
	})
}

func TestAReleaseThatFreedNothingOwesNoMessage(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			w := asleep(t, h, 1)[0]
			if !claimed {
				s.publish(channel)
				quiet(w)
				w.Turn(time.Now()) // it tries, and cannot be claimed
			}
			if (h.Claim(channel) != nil) != claimed {
				t.Fatal("claimed is not", claimed)
			}
			if claimed {
				w.Settle("held by another")
				w.Turn(time.Now())
			}
			h.Announced(channel, claimed, false, 0, 0)
			w.Tried(far())
			if !claimed {
				tried(t, w, far()) // for the release
			}
			s.publish(channel)
			time.Sleep(10 * time.Millisecond)
			if !w.Turn(time.Now()).Try {
				t.Errorf("claimed=%v: the message of somebody else was taken for ours", claimed)
			}
		})
	}
}

// Goal: no wake-up is missed when a hold was lost before it was released. Method: the
// release finds nothing to release, so it publishes nothing; its bid finds another
// holder; that one releases, and its message arrives before the answer to our release
// does, which comes on another connection.
func TestTheMessageOfAnotherIsNotTakenForThatOfAReleaseThatFreedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 1)[0]
		h.Claim(channel)
		s.publish(channel) // the other's release
		time.Sleep(10 * time.Millisecond)
		w.Settle("held by another")
		h.Announced(channel, true, false, 0, 0)
		w.Turn(time.Now())
		w.Tried(far())
		if turn := w.Turn(time.Now()); !turn.Try {
			t.Errorf("the lock is free, and the contender sleeps for another %v", time.Until(turn.At))
		}
	})
}

func TestTheLockIsOfferedToOthersAfterSixteenHandOversInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 20)
		for i := range 16 {
			if handOver(t, h, s, 1) != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
		quiet(ws...)
		if h.Claim(channel) != nil {
			t.Fatal("a seventeenth in a row, though others wait")
		}
		const yield = 5 * time.Millisecond
		h.Announced(channel, false, true, s.publish(channel)+1, yield)
		released := time.Now()
		w := ws[16]
		if turn := w.Turn(released); !rung(w) || turn.Try || !turn.At.Equal(released.Add(yield)) {
			t.Errorf("the contender does not hold back: %+v", turn)
		}
		s.publish(channel) // the others' messages do not shorten it
		s.publish(channel)
		time.Sleep(yield - 1)
		if w.Turn(time.Now()).Try {
			t.Error("a message ended the yielding")
		}
		time.Sleep(time.Nanosecond)
		tried(t, w, far())
		s.publish(channel)
		quiet(w)
		if !w.Turn(time.Now()).Try {
			t.Error("messages are still ignored afterwards")
		}
		w.Tried(far())
		if handOver(t, h, s, 1) != w {
			t.Error("the row does not begin anew")
		}
	})
}

func TestTheLockIsNotOfferedWhereNobodyElseListens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 100)
		for i := range ws {
			if handOver(t, h, s, 0) != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
	})
}

func TestOthersThatCameIntoTheRowAreOfferedTheLockAtItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 60)
		for i := range 30 {
			if handOver(t, h, s, 0) != ws[i] {
				t.Fatalf("hand-over %d went wrong", i)
			}
		}
		handOver(t, h, s, 2) // now somebody else listens
		if h.Claim(channel) != nil {
			t.Error("handed on although the row is long and others wait")
		}
	})
}

package waitqueue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Hand-over within the process.

func TestAReleasePicksTheContenderAndItsValue(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		if h.Release(channel, nil, true) != nil {
			t.Error("claimed in an empty queue")
		}
		ws := asleep(t, h, 2)
		w := h.Release(channel, nil, true)
		if w != ws[0] || w.Value != 0 {
			t.Fatal("claimed another than the contender")
		}
		if h.Release(channel, nil, true) != nil {
			t.Error("claimed twice")
		}
		if h.Release("another", nil, true) != nil {
			t.Error("claimed in another queue")
		}
	})
}

func TestAClaimedWaiterSleepsUntilItsClaimIsCompleted(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 2)[0]
		h.Release(channel, nil, true)
		s.disconnect()     // acknowledged anew,
		quiet()            //
		s.publish(channel) // and told twice
		s.publish(channel)
		quiet()
		if step := w.Next(far().Add(time.Hour)); step.Try || step.Front || step.Result != nil {
			t.Errorf("a claimed waiter has the step %+v", step)
		}
		woken(w)
		if !w.Complete("granted", true) || !woken(w) {
			t.Error("the result was not delivered")
		}
		if step := w.Next(time.Now()); step.Result != "granted" || step.Try {
			t.Errorf("the step is %+v, want the result", step)
		}
		if step := w.Next(time.Now()); step.Result != nil {
			t.Error("the result was delivered twice")
		}
	})
}

func TestAfterAClaimInVainTheContenderGoesOnAsBefore(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		h.Release(channel, nil, true)
		w.Complete("held by another", false)
		h.Released(channel, true, 0, 0)
		if step := w.Next(time.Now()); step.Result == nil {
			t.Fatal("no result")
		}
		w.Tried(far())
		if step := w.Next(time.Now()); step.Try || !step.Front {
			t.Errorf("it has the step %+v", step)
		}
		s.publish(channel)
		time.Sleep(10 * time.Millisecond)
		if !woken(w) || !w.Next(time.Now()).Try {
			t.Error("it is not woken any more")
		}
	})
}

func TestAMessageDuringAClaimIsNotForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		h.Release(channel, nil, true)
		told := s.publish(channel) // ours
		s.publish(channel)         // of another who came between
		quiet()
		w.Complete("held by another", false)
		h.Released(channel, true, told, 0)
		woken(w)
		w.Next(time.Now())
		w.Tried(far())
		if !w.Next(time.Now()).Try {
			t.Error("the other's message was lost")
		}
	})
}

func TestAClaimedWaiterThatLeavesIsFoundAbandoned(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		ws := asleep(t, h, 2)
		w := h.Release(channel, nil, true)
		if !w.Leave() {
			t.Error("Leave does not know of the claim")
		}
		if !woken(ws[1]) || !ws[1].Next(time.Now()).Try {
			t.Error("the next one was not let in")
		}
		if w.Complete("granted", true) {
			t.Error("Complete did not notice that the waiter had left")
		}
		if w.Leave() {
			t.Error("a second Leave found a claim")
		}
		if h.Waiting() != 1 {
			t.Errorf("%d wait", h.Waiting())
		}
	})
}

// Complete has told the releasing goroutine that the result is delivered. The waiter,
// whose time ended in the same moment, must still be able to find it.
func TestAResultCompletedBeforeTheWaiterLeftIsStillThere(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := asleep(t, h, 2)[0]
		h.Release(channel, nil, true)
		if !w.Complete("granted", true) {
			t.Fatal("not delivered")
		}
		if w.Leave() {
			t.Error("Leave says that Complete will find the claim abandoned, after Complete")
		}
		if step := w.Next(time.Now()); step.Result != "granted" {
			t.Errorf("after Leave the step is %+v; the grant is lost", step)
		}
	})
}

// A second grant for the same value would be a second hold that nobody knows of.
func TestAWaiterWithAResultThatItHasNotSeenIsNotClaimedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := asleep(t, h, 2)[0]
		h.Release(channel, nil, true)
		w.Complete("granted", true)
		h.Released(channel, true, 1, 0)
		if h.Release(channel, nil, true) != nil {
			t.Error("claimed again before it read its result")
		}
	})
}

// Goal: no wake-up is missed when a hold was lost before it was released. Method: the
// release finds nothing to release, so it publishes nothing; its request finds another
// holder; that one releases, and its message arrives before the answer to our release
// does, which comes on another connection.
func TestTheMessageOfAnotherIsNotTakenForThatOfAReleaseThatFreedNothing(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		h.Release(channel, nil, true)
		s.publish(channel) // the other's release
		time.Sleep(10 * time.Millisecond)
		w.Complete("held by another", false)
		h.Released(channel, true, 0, 0)
		w.Next(time.Now())
		w.Tried(far())
		if step := w.Next(time.Now()); !step.Try {
			t.Errorf("the lock is free, and the contender sleeps for another %v", time.Until(step.At))
		}
	})
}

// Readers enter together with the reader in front of them, up to the first who cannot.
func TestABatchEndsAtTheFirstWriter(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		var ws []*waitqueue.Waiter
		for i, reader := range []bool{true, true, true, false, true} {
			ws = append(ws, h.Join(channel, i, reader))
		}
		if step := ws[0].Next(time.Now()); !step.Try {
			t.Fatal("it is not to try")
		}
		batch := ws[0].Batch()
		if !slices.Equal(batch, ws[1:3]) {
			t.Errorf("a batch of %d, want the two readers behind", len(batch))
		}
		for _, w := range batch {
			w.Complete(true, true)
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

// A waiter is told its result a moment before it enters. Who asked for it once more in between would
// release what it holds, because it has left.
func TestAWaiterThatWasToldItsResultIsNotClaimedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		join := func(value string) *waitqueue.Waiter { return h.Join(channel, value, true) }
		first, second := join("first"), join("second")
		for _, w := range []*waitqueue.Waiter{first, second} {
			if w == first && h.Release(channel, nil, true) != first || w == second && len(first.Batch()) != 1 {
				t.Fatal("not claimed")
			}
			w.Complete("refused", false)
			if w.Next(time.Now()).Result == nil {
				t.Fatal("no result")
			}
			if w == first && h.Release(channel, nil, true) != nil || w == second && first.Batch() != nil {
				t.Errorf("the %v waiter was claimed before it went on", w.Value)
			}
			w.Tried(far())
		}
		if h.Release(channel, nil, true) != first || len(first.Batch()) != 1 {
			t.Error("a waiter that goes on waiting is not claimed")
		}
	})
}

// Goal: a batch that grows is as large as what is served. It claims one waiter at least, twice as many after each request
// that served all, and fewer after one that served a part. Method: rounds, each with the number of waiters that are served.
func TestABatchGrowsWhileItIsServed(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		var ws []*waitqueue.Waiter
		for i := range 100 {
			ws = append(ws, h.JoinShared(channel, i, true))
		}
		for round, r := range []struct{ claims, served int }{{1, 0}, {1, 1}, {2, 2}, {2, 3}, {4, 5}, {8, 5}, {8, 1}, {2, 3}} {
			if !ws[0].Next(time.Now()).Try {
				t.Fatalf("round %d: the front does not ask", round)
			}
			batch := ws[0].Batch()
			if len(batch) != r.claims {
				t.Fatalf("round %d: %d were claimed, want %d", round, len(batch), r.claims)
			}
			for i, w := range batch {
				if i+1 < r.served {
					w.Complete("served", true)
				} else if !w.Unclaim() {
					t.Errorf("round %d: waiter %d has left", round, i)
				}
			}
			if r.served == 0 {
				ws[0].Tried(time.Now())
				continue
			}
			for _, w := range ws[:r.served] {
				w.Next(time.Now()) // of which the first has none
				w.Enter(time.Time{})
			}
			ws = ws[r.served:]
		}
		if h.Release(channel, nil, true) != nil {
			t.Error("a release hands over to one waiter")
		}
		claimed := ws[0].Batch()[0]
		if !claimed.Leave() || claimed.Unclaim() {
			t.Error("a waiter that has left goes on waiting")
		}
		for _, w := range ws {
			w.Leave()
		}
	})
}

package waitqueue_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// What disturbs waiters that poll.

// Goal: a waiter knows how long an answer takes. A hand-over that was refused was no attempt of its own.
// Method: the last attempt was long ago when a hand-over is refused, and then the lock is offered.
func TestARefusedHandOverIsNoSlowAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := h.Join(channel, polling{waitqueue.Backoff{First: time.Second, Max: time.Second}}, false)
		w.Deadline = time.Now().Add(3500 * ms)
		tried(t, w, far())
		time.Sleep(900 * ms)
		h.Release(channel, nil, true).Complete(false, false)
		h.Released(channel, true, 0, ms)
		w.Next(time.Now())
		w.Tried(far())
		time.Sleep(1100 * ms)
		if h.Release(channel, nil, true) != nil {
			t.Fatal("no offer")
		}
		h.Released(channel, false, 0, ms)
		if took := nextTurn(t, w); took != time.Second {
			t.Errorf("it holds back for %v, want 1s", took)
		}
	})
}

// The lock is left free for those who poll, and then the only waiter here that polls leaves.
func TestAWaiterForMessagesDoesNotHoldBackForThoseWhoPoll(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		slow := h.Join(channel, polling{waitqueue.Backoff{First: ms, Max: 10 * time.Second}}, false)
		next := h.Join(channel, 2, false)
		tried(t, slow, far())
		for h.Release(channel, nil, true) != nil {
			slow.Complete(false, false)
			slow.Next(time.Now())
			slow.Tried(far())
			h.Released(channel, true, 0, ms)
			time.Sleep(time.Second)
		}
		h.Released(channel, false, 0, ms)
		slow.Leave()
		if took := nextTurn(t, next); took > ms {
			t.Errorf("it tries after %v", took)
		}
	})
}

// Nobody polls any more: who waits for messages does not hold back for it.
func TestAProcessThatPollsNoMoreOffersNothingToThoseWhoPoll(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		slow := h.Join(channel, polling{waitqueue.Backoff{First: ms, Max: 10 * time.Second}}, false)
		tried(t, slow, far())
		h.Release(channel, nil, true).Complete(true, true)
		h.Released(channel, true, 0, ms)
		slow.Next(time.Now())
		slow.Enter(far())
		for holder := slow; ; holder = nil {
			h.Release(channel, holder, true)
			h.Released(channel, false, 0, ms)
			if h.MustWait(t.Context(), channel) {
				t.Error("an offer although nobody waits who polls")
				return
			}
			if time.Since(slow.Since()) > time.Minute {
				return
			}
			time.Sleep(100 * ms)
		}
	})
}

// Goal: who only listens does not keep out who polls. Method: the release reaches a subscriber that never
// takes the lock.
func TestAListenerDoesNotKeepOutThoseWhoPoll(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		c := newHanding(t, h)
		c.told = 1
		began, most := time.Now(), time.Duration(0)
		for time.Since(began) < 20*time.Second {
			c.untilOffered()
			most = max(most, c.enter())
			if most >= 128*ms && time.Since(began) < 2*time.Second {
				return
			}
		}
		t.Errorf("in 20 s the lock was free for %v at a time, want 128ms soon", most)
	})
}

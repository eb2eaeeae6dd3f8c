package waitqueue_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Waiters that only watch a lock, and queues that share a channel.

func TestAWaiterWithoutAValueIsNeverClaimed(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := h.Join(channel, nil, false)
		tried(t, w, far())
		quiet(w)
		tried(t, w, far())
		if h.Release(channel, nil, true) != nil {
			t.Error("a release claimed it")
		}
		h.Released(channel, false, 0, 0)
		if !woken(w) || !w.Next(time.Now()).Try {
			t.Error("it does not try after the release")
		}
		reader, watcher := h.Join("another", 1, true), h.Join("another", nil, true)
		if batch := reader.Batch(); len(batch) > 0 {
			t.Error("a reader claimed it")
		}
		watcher.Leave()
		reader.Leave()
	})
}

func TestAWaiterWithoutAValueLetsOthersGoFirst(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		watcher, other := h.Join(channel, nil, false), h.Join(channel, 1, false)
		until := time.Now().Add(30 * time.Second)
		if !watcher.Next(time.Now()).Try {
			t.Fatal("the watcher may not try")
		}
		watcher.Requeue(until, 0)
		if step := other.Next(time.Now()); !step.Front || step.Try || step.At.After(until) {
			t.Errorf("the one behind has the step %+v", step)
		}
		quiet(watcher, other)
		tried(t, other, far()) // the acknowledgement
		s.publish(channel)
		time.Sleep(10 * ms)
		if !woken(other) || woken(watcher) {
			t.Error("a message woke another than the contender")
		}
		other.Leave()
		if !watcher.Next(time.Now()).Try {
			t.Error("the watcher is not the contender after that")
		}
	})
}

func TestQueuesThatShareAChannelHaveAContenderEach(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		a, b := h.Join(waitqueue.Key(channel, "x"), 1, false), h.Join(waitqueue.Key(channel, "{x}"), 2, false)
		tried(t, a, far())
		tried(t, b, far())
		quiet(a, b)
		tried(t, a, far())
		tried(t, b, far())
		if n := h.Subscribed(); n != 1 {
			t.Errorf("%d subscriptions to one channel", n)
		}
		s.publish(channel)
		time.Sleep(10 * ms)
		if !woken(a) || !woken(b) {
			t.Error("a message on the channel does not wake both")
		}
		a.Leave()
		time.Sleep(3 * time.Second)
		if n := h.Subscribed(); n != 1 {
			t.Errorf("%d subscriptions after one has left", n)
		}
		quiet(b)
		tried(t, b, far())
		late := h.Join(waitqueue.Key(channel, "x"), 3, false)
		tried(t, late, far())
		if !late.Next(time.Now()).Try {
			t.Error("one that comes late does not try again, though messages may have passed")
		}
		s.publish(channel)
		time.Sleep(10 * ms)
		if !woken(b) {
			t.Error("the one that stayed is not woken")
		}
		late.Leave()
		b.Leave()
		time.Sleep(3 * time.Second)
		if n := h.Subscribed(); n != 0 {
			t.Errorf("%d subscriptions after all have left", n)
		}
	})
}

package waitqueue_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// The subscription connection.

const ms = time.Millisecond

func TestNothingIsOpenedUntilSomebodyHasTriedInVain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := h.Join(channel, 1, false)
		w.Next(time.Now())
		w.Leave()
		h.Release(channel, nil, true)
		h.Released(channel, false, 0, 0)
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n > 0 {
			t.Errorf("%d connections for nobody", n)
		}
	})
}

func TestOneConnectionAndOneSubscriptionServeAllWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		asleep(t, h, 100)
		time.Sleep(time.Hour)
		if n := len(s.since(time.Time{})); n != 1 {
			t.Errorf("%d connections", n)
		}
		if n := len(s.log("subscribe")); n != 1 {
			t.Errorf("%d requests to subscribe", n)
		}
	})
}

func TestManyChannelsAreSubscribedByFewRequests(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		const channels = 1000
		ws := make([]*waitqueue.Waiter, channels)
		for i := range ws {
			ws[i] = h.Join(fmt.Sprint(i), i, false)
			tried(t, ws[i], far())
		}
		time.Sleep(100 * ms)
		if h.Subscribed() != channels {
			t.Errorf("%d of %d are subscribed", h.Subscribed(), channels)
		}
		for i, w := range ws {
			if !woken(w) {
				t.Fatalf("waiter %d was not woken by its acknowledgement", i)
			}
		}
		before := len(s.log("subscribe"))
		s.disconnect()
		time.Sleep(100 * ms)
		again := s.log("subscribe")[before:]
		named, most := 0, 0
		for _, r := range again {
			named += len(r.channels)
			most = max(most, len(r.channels))
		}
		if h.Subscribed() != channels || named != channels {
			t.Errorf("%d of %d are subscribed anew, %d were asked for", h.Subscribed(), channels, named)
		}
		if most > 256 || len(again) > 4 {
			t.Errorf("%d requests for up to %d channels each", len(again), most)
		}
	})
}

func TestASubscriptionEndsBetweenOneAndTwoSecondsAfterItsLastUse(t *testing.T) {
	t.Parallel()
	for offset := time.Duration(0); offset < time.Second; offset += 130 * ms {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			ws := asleep(t, h, 2)
			time.Sleep(offset) // against the loop's own rhythm
			ws[0].Leave()
			time.Sleep(10 * time.Second)
			if !s.isSubscribed(channel) {
				t.Error("unsubscribed while somebody waits")
			}
			ws[1].Leave()
			time.Sleep(time.Second - 1)
			if !s.isSubscribed(channel) || h.Subscribed() != 1 {
				t.Error("the subscription ended within a second")
			}
			time.Sleep(time.Second)
			if s.isSubscribed(channel) || h.Subscribed() != 0 {
				t.Error("still subscribed after two seconds")
			}
			if n := s.connections(); n != 0 {
				t.Errorf("%d connections are open for nobody", n)
			}
		})
	}
}

func TestAnIdleChannelIsUnsubscribedThoughOthersAreInUse(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		for i := range 20 {
			other := h.Join(fmt.Sprint(i), i, false)
			tried(t, other, far())
			time.Sleep(137 * ms)
			other.Leave()
		}
		time.Sleep(2 * time.Second)
		if h.Subscribed() != 1 || !s.isSubscribed(channel) || s.connections() != 1 {
			t.Errorf("%d channels on %d connections, want the one in use", h.Subscribed(), s.connections())
		}
		w.Leave()
	})
}

func TestALockThatIsContendedNowAndThenStaysSubscribed(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		for range 20 {
			w := h.Join(channel, 1, false)
			tried(t, w, far())
			time.Sleep(100 * ms)
			w.Leave()
			time.Sleep(900 * ms)
		}
		if n := len(s.log("subscribe")); n != 1 || len(s.log("unsubscribe")) > 0 {
			t.Errorf("subscribed %d times, unsubscribed %d times", n, len(s.log("unsubscribe")))
		}
	})
}

func TestAWaiterThatComesBackAfterTheSubscriptionEndedIsWokenAgain(t *testing.T) {
	t.Parallel()
	for pause := 900 * ms; pause < 2300*ms; pause += 50 * ms {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			asleep(t, h, 1)[0].Leave()
			time.Sleep(pause)
			w := h.Join(channel, 1, false)
			tried(t, w, far())
			quiet(w)
			w.Next(time.Now())
			w.Tried(far())
			if s.publish(channel) != 1 {
				t.Error("not subscribed")
			}
			time.Sleep(10 * ms)
			if !woken(w) || !w.Next(time.Now()).Try {
				t.Errorf("coming back after %v: not woken", pause)
			}
		})
	}
}

func TestAfterAReconnectEverybodyIsSubscribedAndEveryContenderTriesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		front := make([]*waitqueue.Waiter, 10)
		var behind []*waitqueue.Waiter
		for i := range front {
			name := fmt.Sprint(i)
			front[i] = h.Join(name, i, false)
			behind = append(behind, h.Join(name, i, false))
			tried(t, front[i], far())
			quiet(front[i])
			tried(t, front[i], far())
		}
		s.disconnect()
		synctest.Wait()
		if h.Subscribed() != 0 {
			t.Errorf("%d are said to be subscribed without a connection", h.Subscribed())
		}
		for _, w := range front {
			if woken(w) {
				t.Error("woken by the loss of the connection")
			}
		}
		time.Sleep(100 * ms)
		if h.Subscribed() != len(front) {
			t.Errorf("%d of %d are subscribed", h.Subscribed(), len(front))
		}
		for i, w := range front {
			if !woken(w) || !w.Next(time.Now()).Try {
				t.Errorf("contender %d does not try again", i)
			}
			if woken(behind[i]) {
				t.Errorf("waiter behind contender %d was woken", i)
			}
		}
	})
}

// A listener of several servers subscribes anew by itself, without a word of its
// connections: by the acknowledgement alone.
func TestAnAcknowledgementOfAChannelThatIsSubscribedMakesTheContenderTryAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 2)
		s.resubscribe(channel)
		time.Sleep(10 * ms)
		if !woken(ws[0]) || woken(ws[1]) {
			t.Error("want the contender woken, and nobody else")
		}
		tried(t, ws[0], far())
		if h.Subscribed() != 1 {
			t.Errorf("%d subscriptions to one channel", h.Subscribed())
		}
	})
}

// The connection breaks before the server has acknowledged a subscription: it is asked for again
// on the next one.
func TestASubscriptionThatWasAskedForWhenTheConnectionBrokeIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.set(func() { s.latency = time.Second })
		w := h.Join(channel, 1, false)
		tried(t, w, far())
		time.Sleep(100 * ms)
		if !s.isSubscribed(channel) || h.Subscribed() != 0 {
			t.Fatal("want a request without an acknowledgement")
		}
		s.set(func() { s.latency = time.Millisecond })
		s.disconnect()
		quiet(w)
		time.Sleep(100 * ms)
		if h.Subscribed() != 1 {
			t.Fatal("not subscribed after the reconnect")
		}
		w.Next(time.Now())
		w.Tried(far())
		s.publish(channel)
		time.Sleep(10 * ms)
		if !woken(w) || !w.Next(time.Now()).Try {
			t.Error("not woken by a message")
		}
	})
}

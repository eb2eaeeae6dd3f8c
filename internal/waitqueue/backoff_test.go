package waitqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// What goes wrong with the subscription connection.

// wantBackOff fails unless the attempts to connect come at growing distances.
func wantBackOff(t *testing.T, attempts []time.Duration, over time.Duration) {
	t.Helper()
	// 10, 20, … 640 ms, then 1 s, each up to half shorter: seven in the first 1.3 s.
	if most := 9 + 2*int(over/time.Second); len(attempts) > most {
		t.Errorf("%d attempts to connect within %v, want at most %d; the last ones at %v",
			len(attempts), over, most, attempts[len(attempts)-3:])
	}
	if least := int(over / time.Second); len(attempts) < least {
		t.Errorf("only %d attempts to connect within %v", len(attempts), over)
	}
}

func TestAServerThatCannotBeReachedIsTriedWithBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.down = errDown
		w := h.Join(channel, 1, false)
		began := time.Now()
		tried(t, w, far())
		time.Sleep(2 * time.Second)
		attempts := s.since(began)
		for i := range attempts[1:] {
			longest := min(10*ms<<i, time.Second)
			if wait := attempts[i+1] - attempts[i]; wait > longest || wait < longest/2 {
				t.Errorf("%v after attempt %d, want %v or up to half less", wait, i, longest)
			}
		}
		time.Sleep(28 * time.Second)
		wantBackOff(t, s.since(began), 30*time.Second)
		s.set(func() { s.down = nil })
		woken(w)
		time.Sleep(1100 * ms)
		if !woken(w) || h.Subscribed() != 1 {
			t.Error("not subscribed a second after the server came back")
		}
	})
}

func TestTheBackOffBeginsAnewAfterAConnectionThatWorked(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.down = errDown
		w := h.Join(channel, 1, false)
		tried(t, w, far())
		time.Sleep(10 * time.Second)
		s.set(func() { s.down = nil })
		time.Sleep(10 * time.Second)
		woken(w)
		s.disconnect()
		time.Sleep(50 * ms)
		if !woken(w) {
			t.Error("a connection that broke after ten good seconds is not replaced within 50 ms")
		}
	})
}

func TestConnectionsThatBreakAtOnceAreMadeWithBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.breaking = true
		began := time.Now()
		tried(t, h.Join(channel, 1, false), far())
		time.Sleep(20 * time.Second)
		wantBackOff(t, s.since(began), 20*time.Second)
	})
}

// An ACL that names keys but no channels is a mistake that many make once.
func TestAChannelThatIsRefusedIsAskedForWithBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.refused[channel] = true
		began := time.Now()
		w := h.Join(channel, 1, false)
		tried(t, w, far())
		time.Sleep(20 * time.Second)
		if n := len(s.since(began)); n > 30 {
			t.Errorf("%d connections within 20 s", n)
		}
		if n := len(s.log("subscribe")); n > 30 {
			t.Errorf("%d requests to subscribe within 20 s", n)
		}
	})
}

func TestAChannelThatIsRefusedDoesNotCostTheOthersTheirs(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		good := asleep(t, h, 1)[0]
		s.refused["forbidden"] = true
		tried(t, h.Join("forbidden", 1, false), far())
		wakeUps, missing := 0, 0
		for range 2000 {
			time.Sleep(10 * ms)
			if woken(good) && good.Next(time.Now()).Try {
				wakeUps++
				good.Tried(far())
			}
			if !s.isSubscribed(channel) {
				missing++
			}
		}
		if wakeUps > 30 {
			t.Errorf("the contender of another lock asked Redis %d times within 20 s, for nothing", wakeUps)
		}
		if missing > 200 {
			t.Errorf("another lock was without its subscription for %v of 20 s", time.Duration(missing)*10*ms)
		}
	})
}

func TestNewcomersDoNotShortenTheBackOff(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.down = errDown
		began := time.Now()
		for i := range 1000 {
			tried(t, h.Join(fmt.Sprint(i), i, false), far())
			time.Sleep(10 * ms)
		}
		wantBackOff(t, s.since(began), 10*time.Second)
	})
}

func TestWhenNobodyWaitsAnyMoreAServerThatIsDownIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.down = errDown
		for i := range 10 {
			w := h.Join(fmt.Sprint(i), i, false)
			tried(t, w, far())
			time.Sleep(10 * ms)
			w.Leave()
		}
		time.Sleep(5 * time.Second)
		before := len(s.since(time.Time{}))
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})) - before; n > 0 {
			t.Errorf("%d attempts to connect within a minute in which nobody waited", n)
		}
		s.set(func() { s.down = nil })
		time.Sleep(5 * time.Second)
		if n := len(s.log("subscribe")); n > 0 {
			t.Errorf("%d requests to subscribe for nobody", n)
		}
	})
}

func TestASubscriptionThatIsNeverAcknowledgedHurtsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.silent = true
		w := h.Join(channel, 1, false)
		until := time.Now().Add(5 * time.Second)
		tried(t, w, until)
		time.Sleep(5 * time.Second)
		if !w.Next(time.Now()).Try {
			t.Error("the waiter does not go by its own clock")
		}
		w.Tried(far())
		s.set(func() { s.silent = false })
		s.disconnect()
		time.Sleep(50 * ms)
		if h.Subscribed() != 1 {
			t.Error("not subscribed by the next connection")
		}
	})
}

func TestEveryConnectionIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		for range 5 {
			w := h.Join(channel, 1, false)
			tried(t, w, far())
			time.Sleep(time.Second)
			s.disconnect()
			time.Sleep(time.Second)
			w.Leave()
			time.Sleep(3 * time.Second)
		}
		if made := len(s.since(time.Time{})); s.everClosed != made || s.connections() != 0 {
			t.Errorf("%d of %d connections were closed, %d are open", s.everClosed, made, s.connections())
		}
	})
}

// Goal: a log handler may ask the library anything. Method: one that asks the hub, for each of
// the warnings that there are.
func TestALogHandlerMayCallTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &station{latency: ms, refused: map[string]bool{"forbidden": true}}
		asking := &asking{}
		h := waitqueue.NewHub(s.listen, slog.New(asking))
		defer h.Stop()
		asking.hub = h
		tried(t, h.Join("forbidden", 1, false), far())
		time.Sleep(time.Second)
		if n := asking.asked.Load(); n != 1 {
			t.Errorf("%d warnings of a refused channel", n)
		}
		s.set(func() { s.down = errDown })
		s.disconnect()
		time.Sleep(time.Second)
		if n := asking.asked.Load(); n < 2 {
			t.Errorf("%d warnings in all, want one of the connection", n)
		}
	})
}

// asking is a log handler that wants to know how many wait.
type asking struct {
	slog.Handler
	hub   *waitqueue.Hub
	asked atomic.Int64
}

func (a *asking) Enabled(context.Context, slog.Level) bool { return true }

func (a *asking) Handle(context.Context, slog.Record) error {
	a.hub.Waiting()
	a.hub.Subscribed()
	a.hub.MustWait(context.Background(), "forbidden")
	a.asked.Add(1)
	return nil
}

// An operator mends the ACL, and breaks it again.
func TestAChannelThatIsRefusedAgainIsAskedForSoonAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.refused[channel] = true
		tried(t, h.Join(channel, 1, false), far())
		time.Sleep(time.Minute)
		s.set(func() { s.refused[channel] = false })
		time.Sleep(time.Minute)
		if h.Subscribed() != 1 {
			t.Fatal("not subscribed after the server allowed it")
		}
		s.set(func() { s.refused[channel] = true })
		s.disconnect()
		time.Sleep(time.Second)
		s.set(func() { s.refused[channel] = false })
		time.Sleep(3 * time.Second)
		if h.Subscribed() != 1 {
			t.Error("after the first refusal it is asked for as seldom as after many")
		}
	})
}

package wake_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/wake"
)

// The subscription connection.

const ms = time.Millisecond

func TestNothingIsOpenedUntilSomebodyHasTriedInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := h.Join(channel, 1)
		w.Turn(time.Now())
		w.Leave(time.Time{})
		h.Claim(channel)
		h.Announced(channel, false, true, 0, 0)
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n > 0 {
			t.Errorf("%d connections for nobody", n)
		}
	})
}

func TestOneConnectionAndOneSubscriptionServeAllWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		const lines = 1000
		ws := make([]*wake.Waiter, lines)
		for i := range ws {
			ws[i] = h.Join(fmt.Sprint(i), i)
			tried(t, ws[i], far())
		}
		time.Sleep(100 * ms)
		if h.Subscribed() != lines {
			t.Errorf("%d of %d are subscribed", h.Subscribed(), lines)
		}
		for i, w := range ws {
			if !rung(w) {
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
		if h.Subscribed() != lines || named != lines {
			t.Errorf("%d of %d are subscribed anew, %d were asked for", h.Subscribed(), lines, named)
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
			ws[0].Leave(time.Time{})
			time.Sleep(10 * time.Second)
			if !s.isSubscribed(channel) {
				t.Error("unsubscribed while somebody waits")
			}
			ws[1].Leave(time.Time{})
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 1)[0]
		for i := range 20 {
			other := h.Join(fmt.Sprint(i), i)
			tried(t, other, far())
			time.Sleep(137 * ms)
			other.Leave(time.Time{})
		}
		time.Sleep(2 * time.Second)
		if h.Subscribed() != 1 || !s.isSubscribed(channel) || s.connections() != 1 {
			t.Errorf("%d channels on %d connections, want the one in use", h.Subscribed(), s.connections())
		}
		w.Leave(time.Time{})
	})
}

func TestALockThatIsContendedNowAndThenStaysSubscribed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		for range 20 {
			w := h.Join(channel, 1)
			tried(t, w, far())
			time.Sleep(100 * ms)
			w.Leave(time.Time{})
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
			asleep(t, h, 1)[0].Leave(time.Time{})
			time.Sleep(pause)
			w := h.Join(channel, 1)
			tried(t, w, far())
			quiet(w)
			w.Turn(time.Now())
			w.Tried(far())
			if s.publish(channel) != 1 {
				t.Error("not subscribed")
			}
			time.Sleep(10 * ms)
			if !rung(w) || !w.Turn(time.Now()).Try {
				t.Errorf("coming back after %v: not woken", pause)
			}
		})
	}
}

func TestAfterAReconnectEverybodyIsSubscribedAndEveryContenderLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		front := make([]*wake.Waiter, 10)
		var behind []*wake.Waiter
		for i := range front {
			name := fmt.Sprint(i)
			front[i] = h.Join(name, i)
			behind = append(behind, h.Join(name, i))
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
			if rung(w) {
				t.Error("woken by the loss of the connection")
			}
		}
		time.Sleep(100 * ms)
		if h.Subscribed() != len(front) {
			t.Errorf("%d of %d are subscribed", h.Subscribed(), len(front))
		}
		for i, w := range front {
			if !rung(w) || !w.Turn(time.Now()).Try {
				t.Errorf("contender %d does not look again", i)
			}
			if rung(behind[i]) {
				t.Errorf("waiter behind contender %d was woken", i)
			}
		}
	})
}

// A listener of several servers subscribes anew by itself, without a word of its
// connections: by the acknowledgement alone.
func TestAnAcknowledgementOfAChannelThatIsListeningMakesTheContenderLookAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 2)
		s.resubscribe(channel)
		time.Sleep(10 * ms)
		if !rung(ws[0]) || rung(ws[1]) {
			t.Error("want the contender woken, and nobody else")
		}
		tried(t, ws[0], far())
		if h.Subscribed() != 1 {
			t.Errorf("%d subscriptions to one channel", h.Subscribed())
		}
		// A message of ours is lost with the old subscription: the next is a stranger's.
		h.Claim(channel).Settle("refused")
		h.Announced(channel, true, true, 0, 0)
		ws[0].Turn(time.Now())
		s.resubscribe(channel)
		time.Sleep(10 * ms)
		quiet(ws...)
		tried(t, ws[0], far())
		s.publish(channel)
		time.Sleep(10 * ms)
		if !rung(ws[0]) || !ws[0].Turn(time.Now()).Try {
			t.Error("the message of somebody else was taken for one of ours")
		}
	})
}

func TestMessagesOfOursThatABrokenConnectionOwedAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		ws := asleep(t, h, 8)
		for range 6 {
			h.Claim(channel)
			s.disconnect() // before the message is out
			handed := ws[0]
			ws = ws[1:]
			handed.Settle("granted")
			h.Announced(channel, true, true, 0, 0)
			handed.Turn(time.Now())
			handed.Leave(far())
			time.Sleep(2 * time.Second) // for any back-off
			quiet(ws...)
			tried(t, ws[0], far()) // the acknowledgement
		}
		s.publish(channel)
		time.Sleep(10 * ms)
		if !rung(ws[0]) || !ws[0].Turn(time.Now()).Try {
			t.Error("the message of somebody else was taken for one of ours")
		}
	})
}

// wantBackOff fails unless the attempts to connect come at growing distances.
func wantBackOff(t *testing.T, attempts []time.Duration, over time.Duration) {
	t.Helper()
	// 10, 20, … 640 ms, then 1 s: seven in the first 1.3 s.
	if most := 9 + int(over/time.Second); len(attempts) > most {
		t.Errorf("%d attempts to connect within %v, want at most %d; the last ones at %v",
			len(attempts), over, most, attempts[len(attempts)-3:])
	}
	if least := int(over / time.Second); len(attempts) < least {
		t.Errorf("only %d attempts to connect within %v", len(attempts), over)
	}
}

func TestAServerThatCannotBeReachedIsTriedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.down = errDown
		w := h.Join(channel, 1)
		began := time.Now()
		tried(t, w, far())
		time.Sleep(2 * time.Second)
		want := []time.Duration{0, 10 * ms, 30 * ms, 70 * ms, 150 * ms, 310 * ms, 630 * ms, 1270 * ms}
		if got := s.since(began); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		time.Sleep(28 * time.Second)
		wantBackOff(t, s.since(began), 30*time.Second)
		s.set(func() { s.down = nil })
		rung(w)
		time.Sleep(1100 * ms)
		if !rung(w) || h.Subscribed() != 1 {
			t.Error("not subscribed a second after the server came back")
		}
	})
}

func TestTheBackOffBeginsAnewAfterAConnectionThatWorked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.down = errDown
		w := h.Join(channel, 1)
		tried(t, w, far())
		time.Sleep(10 * time.Second)
		s.set(func() { s.down = nil })
		time.Sleep(10 * time.Second)
		rung(w)
		s.disconnect()
		time.Sleep(50 * ms)
		if !rung(w) {
			t.Error("a connection that broke after ten good seconds is not replaced within 50 ms")
		}
	})
}

func TestConnectionsThatBreakAtOnceAreMadeWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.breaking = true
		began := time.Now()
		tried(t, h.Join(channel, 1), far())
		time.Sleep(20 * time.Second)
		wantBackOff(t, s.since(began), 20*time.Second)
	})
}

// An ACL that names keys but no channels is a mistake that many make once.
func TestAChannelThatIsRefusedIsAskedForWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.refused[channel] = true
		began := time.Now()
		w := h.Join(channel, 1)
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		good := asleep(t, h, 1)[0]
		s.refused["forbidden"] = true
		tried(t, h.Join("forbidden", 1), far())
		woken, deaf := 0, 0
		for range 2000 {
			time.Sleep(10 * ms)
			if rung(good) && good.Turn(time.Now()).Try {
				woken++
				good.Tried(far())
			}
			if !s.isSubscribed(channel) {
				deaf++
			}
		}
		if woken > 30 {
			t.Errorf("the contender of another lock asked Redis %d times within 20 s, for nothing", woken)
		}
		if deaf > 200 {
			t.Errorf("another lock was without its subscription for %v of 20 s", time.Duration(deaf)*10*ms)
		}
	})
}

func TestNewcomersDoNotShortenTheBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.down = errDown
		began := time.Now()
		for i := range 1000 {
			tried(t, h.Join(fmt.Sprint(i), i), far())
			time.Sleep(10 * ms)
		}
		wantBackOff(t, s.since(began), 10*time.Second)
	})
}

func TestWhenNobodyWaitsAnyMoreAServerThatIsDownIsLeftAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.down = errDown
		for i := range 10 {
			w := h.Join(fmt.Sprint(i), i)
			tried(t, w, far())
			time.Sleep(10 * ms)
			w.Leave(time.Time{})
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		s.deaf = true
		w := h.Join(channel, 1)
		until := time.Now().Add(5 * time.Second)
		tried(t, w, until)
		time.Sleep(5 * time.Second)
		if !w.Turn(time.Now()).Try {
			t.Error("the waiter does not go by its own clock")
		}
		w.Tried(far())
		s.set(func() { s.deaf = false })
		s.disconnect()
		time.Sleep(50 * ms)
		if h.Subscribed() != 1 {
			t.Error("not subscribed by the next connection")
		}
	})
}

func TestEveryConnectionIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		for range 5 {
			w := h.Join(channel, 1)
			tried(t, w, far())
			time.Sleep(time.Second)
			s.disconnect()
			time.Sleep(time.Second)
			w.Leave(time.Time{})
			time.Sleep(3 * time.Second)
		}
		if made := len(s.since(time.Time{})); s.everClosed != made || s.connections() != 0 {
			t.Errorf("%d of %d connections were closed, %d are open", s.everClosed, made, s.connections())
		}
	})
}

func TestStopEndsTheConnectionAndIsIdempotent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		w := asleep(t, h, 1)[0]
		h.Stop()
		if s.connections() != 0 || s.everClosed != 1 {
			t.Errorf("%d connections are open after Stop", s.connections())
		}
		h.Stop()
		// Whoever comes late is not harmed, and starts nothing.
		late := h.Join(channel, 2)
		w.Leave(time.Time{})
		tried(t, late, far())
		h.Announced(channel, false, true, 0, 0)
		tried(t, late, far())
		late.Leave(time.Time{})
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n != 1 {
			t.Errorf("%d connections, one of them before Stop", n)
		}
	})
}

func TestStopBeforeAnythingHappened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		h.Stop()
		w := h.Join(channel, 1)
		tried(t, w, far())
		time.Sleep(time.Minute)
		if n := len(s.since(time.Time{})); n != 0 {
			t.Errorf("%d connections after Stop", n)
		}
	})
}

func TestStopEndsAnAttemptToConnectAndABackOff(t *testing.T) {
	t.Parallel()
	for what, listen := range map[string]wake.Listen{
		"connecting": func(ctx context.Context, _ driver.Events) (driver.Listener, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"backing off": func(context.Context, driver.Events) (driver.Listener, error) { return nil, errDown },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := wake.NewHub(listen, slog.New(slog.DiscardHandler))
				tried(t, h.Join(channel, 1), far())
				time.Sleep(5 * time.Second)
				began := time.Now()
				h.Stop()
				if d := time.Since(began); d > 0 {
					t.Errorf("Stop took %v", d)
				}
			})
		})
	}
}

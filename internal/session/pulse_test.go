package session_test

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// What makes a client protected: its pulse, and a watchdog that is alive.

func TestItSaysWhenTheLastWatchdogGoesAndWhenOneIsBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		watchdogs := func(alive time.Duration) {
			s.watchdog(alive)
			time.Sleep(2 * second)
		}
		s.Ready(t.Context())
		for i := range 3 {
			time.Sleep(5 * second)
			if s.Guarded() || s.Watchdogs() != 0 || s.log.count("no watchdog is alive") != i+1 {
				t.Errorf("round %d: without a watchdog: %d, said %d times", i, s.Watchdogs(), s.log.count("no watchdog is alive"))
			}
			watchdogs(10 * second)
			if !s.Guarded() || s.Watchdogs() != 1 || s.log.count("redlatch: protected") != i+1 {
				t.Errorf("round %d: with a watchdog: %d, said %d times", i, s.Watchdogs(), s.log.count("redlatch: protected"))
			}
			watchdogs(0)
		}
	})
}

// Goal: a watchdog that is late for a moment costs nobody the protection, and one that is
// gone does after half a lease. Method: one is away for two heartbeats and back, and then for good.
func TestAWatchdogThatIsLateForAMomentIsNotTakenForDead(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		watchdog := s.watchdog
		watchdog(10 * second)
		s.Ready(t.Context())
		time.Sleep(lease / 12) // between two heartbeats, from here on
		for _, away := range []int{2, 3} {
			watchdog(0)
			time.Sleep(time.Duration(away) * lease / 6)
			synctest.Wait()
			if s.Watchdogs() != 0 {
				t.Errorf("%d watchdogs after %d heartbeats without one", s.Watchdogs(), away)
			}
			if s.Guarded() != (away < 3) || s.log.count("no watchdog is alive") != away-2 {
				t.Errorf("after %d heartbeats without a watchdog: guarded %v, said %d times", away, s.Guarded(), s.log.count("no watchdog is alive"))
			}
			watchdog(10 * second)
			time.Sleep(lease / 6)
			synctest.Wait()
			if !s.Guarded() {
				t.Error("not guarded though one is back")
			}
		}
	})
}

// Goal: a connection that the client has dropped, but that the server takes for open,
// counts for nothing. Method: the pulse is cut, and somebody else stays on its channel.
func TestThePulseIsBackUnderAnotherNameAfterItsConnectionWasCut(t *testing.T) {
	t.Parallel()
	s := on(t, redistest.Start(t))
	s.Ready(t.Context())
	halfOpen, err := s.driver.Driver.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer halfOpen.Close()
	first := s.named()
	if n := s.listeners(first); n != 1 {
		t.Fatalf("the pulse %q has %d subscribers", first, n)
	}
	id := pulseConnection(s)
	if err := halfOpen.Subscribe(t.Context(), protocol.PulseChannel(s.client, first)); err != nil {
		t.Fatal(err)
	}
	s.do("CLIENT", "KILL", "ID", id)
	redistest.Eventually(t, 5*second, func() bool {
		return s.named() != first && s.named() != "" && s.listeners(s.named()) == 1
	}, "there is a pulse of another name")
	second := s.named()
	s.end() // the connection ends; so does the record, in peace
	if n := s.listeners(first); n != 1 {
		t.Errorf("the former channel has %d subscribers: this test tests nothing", n)
	}
	redistest.Eventually(t, 5*time.Second, func() bool { return s.listeners(second) == 0 }, "the new one is gone")
}

// pulseConnection is the server's number of the connection that has the pulse.
func pulseConnection(s *stage) string {
	s.Helper()
	found := regexp.MustCompile(`(?m)^id=(\d+) .* sub=1 `).FindStringSubmatch(s.do("CLIENT", "LIST", "TYPE", "pubsub").Str)
	if found == nil {
		s.Fatal("no connection is subscribed")
	}
	return found[1]
}

// A listener on a cluster stays, and subscribes anew when one of its connections breaks.
func TestAPulseThatWasAcknowledgedTwiceGetsAnotherName(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		first := s.named()
		s.driver.again()
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if now := s.named(); now == first || s.listeners(now) != 1 || s.listeners(first) != 0 {
			t.Errorf("the pulse was %q with %d subscribers, and is %q with %d", first, s.listeners(first), now, s.listeners(now))
		}
		if s.log.count("no pulse") > 0 {
			t.Error("it says that it was without a pulse")
		}
	})
}

// A client without a pulse cannot be told from a dead one, and must not seem protected.
func TestAClientWithoutAPulseSaysThatItIsNotProtected(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.driver.refuse(true)
		s.watchdog(10 * second)
		s.Ready(t.Context())
		for range 6 {
			s.watchdog(10 * second)
			time.Sleep(second)
		}
		if s.Guarded() || s.log.count("redlatch: protected") > 0 || s.log.count("without protection: no pulse") != 1 {
			t.Errorf("guarded %v, log:\n%s", s.Guarded(), s.log.text.String())
		}
		if s.named() != "" {
			t.Errorf("it names the pulse %q", s.named())
		}
		s.driver.refuse(false)
		s.watchdog(10 * second)
		time.Sleep(3 * second)
		if !s.Guarded() || s.log.count("redlatch: protected") != 1 {
			t.Errorf("with a pulse: guarded %v, log:\n%s", s.Guarded(), s.log.text.String())
		}
	})
}

// Goal: nobody but its client ends an empty session. Method: what a watchdog sends for a
// client without holds; then the client notes one.
func TestAnEmptySessionStaysWhileItsClientComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		redistest.Must(s.runner.Run(t.Context(), script.SessionKeep(s.client, s.named(), 0)))
		s.enter("a")
		s.wantInRedis("after a watchdog and the client", "c:1 a")
		if s.named() != s.Pulse() {
			t.Errorf("it names the pulse %q, not %q", s.named(), s.Pulse())
		}
	})
}

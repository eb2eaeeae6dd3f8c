package session_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// told is how many waits Redis has.
func (s *stage) told() int64 { return s.do("HLEN", protocol.WaitsKey(s.client)).Int }

func TestWaitsAreToldWithTheHeartbeatWhileThereAreSome(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		var calls atomic.Int64
		s.driver.before = func(commands []driver.Command) {
			for _, c := range commands {
				if c.Key == protocol.WaitsKey(s.client) {
					calls.Add(1)
				}
			}
		}
		s.Ready(t.Context())
		time.Sleep(3 * second)
		synctest.Wait()
		if n := calls.Load(); n > 0 {
			t.Errorf("without a wait, %d calls tell of waits", n)
		}
		s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now().Add(-2 * second)})
		time.Sleep(second)
		synctest.Wait()
		entry := s.do("HGET", protocol.WaitsKey(s.client), s.client+":1 x").Str
		since := time.Now().Add(-3 * second)
		if e, ok := protocol.ParseWaitEntry(s.client, entry); !ok || e.Mode != protocol.WaitExclusive || time.UnixMilli(e.Since).Sub(since).Abs() > 100*time.Millisecond {
			t.Errorf("the entry is %q, want one since %d", entry, since.UnixMilli())
		}
		s.wait((*s.waits.Load())[0], script.Wait{Owner: s.client + ":2", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now()})
		before := calls.Load()
		time.Sleep(time.Second)
		synctest.Wait()
		if s.told() != 1 {
			t.Error("a wait is told that is not older than an interval")
		}
		time.Sleep(2 * second)
		synctest.Wait()
		if calls.Load()-before != 3 || s.told() != 2 {
			t.Errorf("three heartbeats made %d calls that tell of waits", calls.Load()-before)
		}
		s.wait()
		before = calls.Load()
		time.Sleep(3 * second)
		synctest.Wait()
		if s.told() != 0 || calls.Load()-before != 1 {
			t.Errorf("after the wait Redis has %d, told by %d calls", s.told(), calls.Load()-before)
		}
	})
}

// Goal: no wait seems longer than it was, or those that never met would look like a deadlock. Method:
// requests and replies take random times, and some replies are lost, so that their requests are repeated.
func TestLongNoWaitSeemsLongerThanItWas(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		random := rand.New(rand.NewPCG(5, 6))
		s.driver.Driver = slow{s.driver.Driver, func() time.Duration { return time.Duration(random.IntN(400)) * time.Millisecond }}
		s.driver.set(func() (request, reply bool) { return random.IntN(6) == 0, random.IntN(4) == 0 })
		s.Ready(t.Context())
		told := 0
		for range 40 {
			began := time.Now()
			s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: began})
			for range 40 {
				time.Sleep(200 * time.Millisecond)
				text := s.do("HGET", protocol.WaitsKey(s.client), s.client+":1 x").Str
				e, ok := protocol.ParseWaitEntry(s.client, text)
				if !ok || time.UnixMilli(e.Confirmed).Before(began) { // that of the wait before
					continue
				}
				told++
				if since, confirmed := time.UnixMilli(e.Since), time.UnixMilli(e.Confirmed); since.Before(began) || confirmed.After(*s.looked.Load()) {
					t.Fatalf("since %v before it began, confirmed %v after the client looked", began.Sub(since), confirmed.Sub(*s.looked.Load()))
				}
			}
		}
		if told < 200 {
			t.Errorf("it was told %d times", told)
		}
	})
}

// slow is a driver whose requests and replies take a while.
type slow struct {
	driver.Driver
	time func() time.Duration
}

func (d slow) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	time.Sleep(d.time())
	defer func() { time.Sleep(d.time()) }()
	return d.Driver.Pipeline(ctx, commands...)
}

// A wait that began after the last answered heartbeat has no certain beginning by the server's clock.
func TestAWaitIsToldOnlyBehindAnAnsweredHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		time.Sleep(1500 * time.Millisecond)
		lost := atomic.Bool{}
		s.driver.set(func() (request, reply bool) { return false, lost.Load() })
		lost.Store(true)
		s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now()})
		time.Sleep(5 * second)
		if s.told() != 0 {
			t.Error("it is told before a heartbeat was answered")
		}
		lost.Store(false)
		time.Sleep(3 * second)
		if s.told() != 1 {
			t.Errorf("%d waits are told", s.told())
		}
	})
}

func TestWaitsEndWithTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now().Add(-second)})
		s.Ready(t.Context())
		time.Sleep(3 * second)
		synctest.Wait()
		if s.told() != 1 {
			t.Errorf("Redis has %d waits", s.told())
		}
		if err := s.Stop(t.Context()); err != nil || s.told() != 0 {
			t.Errorf("after the end: %d waits, %v", s.told(), err)
		}
	})
}

// A user that may not write to the key stays protected, and asks once.
func TestARefusalToTellWaitsCostsNothingElse(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now().Add(-second)})
		var asked atomic.Int64
		s.driver.refused = func(c driver.Command) bool {
			waits := c.Key == protocol.WaitsKey(s.client)
			if waits {
				asked.Add(1)
			}
			return waits
		}
		s.watchdog(9 * second)
		s.Ready(t.Context())
		time.Sleep(5 * second)
		synctest.Wait()
		if asked.Load() != 1 || s.log.count("refuses to be told of waits") != 1 {
			t.Errorf("it asked %d times, and said:\n%s", asked.Load(), s.log.text.String())
		}
		if !s.Guarded() || strings.Contains(s.log.text.String(), "without protection") {
			t.Error("it is not protected any more")
		}
	})
}

// Waits that end while the server does not answer are removed when it does.
func TestALostReplyToWaitsIsRepeatedByTheNextHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.wait(script.Wait{Owner: s.client + ":1", Lock: "x", Mode: protocol.WaitExclusive, Since: time.Now().Add(-second)})
		s.Ready(t.Context())
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		s.wait()
		back := time.Now().Add(2500 * time.Millisecond) // longer than one heartbeat is repeated
		s.driver.set(func() (request, reply bool) { return time.Now().Before(back), false })
		time.Sleep(6 * second)
		synctest.Wait()
		if s.told() != 0 {
			t.Errorf("Redis still has %d waits", s.told())
		}
	})
}

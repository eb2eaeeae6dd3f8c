package sentinel_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
)

// TestNewestConfigurationCounts, in every order of the sentinels, also if one is frozen.
func TestNewestConfigurationCounts(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"s:1", "s:2", "s:3"}, {"s:2", "s:3", "s:1"}, {"s:3", "s:1", "s:2"}} {
		bubble(t, func(t *testing.T, s *stage) {
			s.say("s:1", "b:1", 2)
			s.say("s:2", "b:1", 2)
			s.freeze("s:3")
			begin := time.Now()
			wantServer(t, s.open(t, order...), "b:1")
			if took := time.Since(begin); took > 0 {
				t.Errorf("the frozen sentinel was waited for, %v", took)
			}
		})
		bubble(t, func(t *testing.T, s *stage) {
			s.say("s:1", "b:1", 2)
			s.freeze("s:2")
			wantServer(t, s.open(t, order...), "b:1")
		})
	}
}

// TestFrozenMajorityCostsPatience and no more.
func TestFrozenMajorityCostsPatience(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *stage) {
		s.freeze("s:1")
		s.freeze("s:2")
		begin := time.Now()
		wantServer(t, s.open(t, "s:1", "s:2", "s:3"), "a:1")
		if took := time.Since(begin); took != timeout/3 {
			t.Errorf("Open took %v, want %v", took, timeout/3)
		}
		s.freeze("s:3")
		begin = time.Now()
		_, err := sentinel.Open(t.Context(), sentinel.Options{Sentinels: []string{"s:1", "s:2", "s:3"}, Master: "locks",
			Node: rueidis.Options{Dial: s.dial, CommandTimeout: timeout}})
		if took := time.Since(begin); err == nil || took != timeout/3 {
			t.Errorf("Open took %v, error %v", took, err)
		}
	})
}

// TestOldConfigurationIsNotGoneBackTo although two of the sentinels forget a failover, as
// long as the third does not.
func TestOldConfigurationIsNotGoneBackTo(t *testing.T) {
	t.Parallel()
	for range 10 { // which two sentinels answer first is a matter of chance
		bubble(t, oldConfiguration)
	}
}

func oldConfiguration(t *testing.T, s *stage) {
	for _, name := range []string{"s:1", "s:2", "s:3"} {
		s.say(name, "b:1", 2)
	}
	d := s.open(t, "s:1", "s:2", "s:3")
	wantServer(t, d, "b:1")
	s.say("s:1", "a:1", 1)
	s.say("s:2", "a:1", 1)
	time.Sleep(15 * time.Second) // of hints by sentinels that are behind
	wantServer(t, d, "b:1")
	if n := s.dialled("a:1"); n > 0 {
		t.Errorf("the old primary was connected to %d times", n)
	}
	s.say("s:3", "a:1", 1) // all of them: that applies
	time.Sleep(15 * time.Second)
	wantServer(t, d, "a:1")
}

// Goal: a minority that is behind the times does not lead back, neither from a good
// connection nor after one has broken. Method: it is all that answers.
func TestAStaleMinorityIsNotAdopted(t *testing.T) {
	t.Parallel()
	for _, sentinels := range [][]string{{"s:1", "s:2", "s:3"}, {"s:1"}} {
		bubble(t, func(t *testing.T, s *stage) {
			for _, name := range []string{"s:1", "s:2", "s:3"} {
				s.say(name, "b:1", 2, "s:1", "s:2", "s:3")
			}
			d := s.open(t, sentinels...)
			wantServer(t, d, "b:1")
			s.freeze("s:2")
			s.freeze("s:3")
			s.say("s:1", "a:1", 1, "s:2", "s:3")
			time.Sleep(30 * time.Second)
			wantServer(t, d, "b:1")
			single.Drop(d.(*sentinel.Driver).Driver, errNobody)
			if reply := d.Do(t.Context(), command("GET", "name")); !errors.Is(reply.Err, driver.ErrNoConnection) {
				t.Errorf("connected by a minority: %+v", reply)
			}
			if n := s.dialled("a:1"); n > 0 {
				t.Errorf("the old primary was connected to %d times", n)
			}
			s.thaw("s:2") // a majority, and one that knows better
			time.Sleep(2 * timeout)
			wantServer(t, d, "b:1")
			s.say("s:2", "a:1", 1, "s:1", "s:3") // a majority of all: that applies
			time.Sleep(15 * time.Second)
			wantServer(t, d, "a:1")
		})
	}
}

// Goal: the sentinels are asked on connections that last. Method: 30 s in which one
// sentinel disagrees with the others, so that all are asked again and again, and then an
// outage of the primary.
func TestSentinelsAreNotConnectedToAgainAndAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *stage) {
		s.say("s:1", "b:1", 2)
		s.say("s:2", "b:1", 2)
		d := s.open(t, "s:1", "s:2", "s:3")
		time.Sleep(30 * time.Second)
		for _, name := range []string{"s:1", "s:2"} {
			s.say(name, "nobody:1", 3)
		}
		time.Sleep(30 * time.Second)
		if reply := d.Do(t.Context(), command("PING")); !errors.Is(reply.Err, errNobody) {
			t.Errorf("%+v without a primary", reply)
		}
		for _, name := range []string{"s:1", "s:2", "s:3"} {
			// One for questions, and one for messages whenever it is followed.
			if n := s.dialled(name); n > 1+60/10 {
				t.Errorf("%s was connected to %d times within a minute", name, n)
			}
		}
	})
}

// TestSwitchIsHeardAtOnce: a message takes no time, and without one it takes a second at most.
func TestSwitchIsHeardAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		message string
		within  time.Duration
	}{
		{"a message", "locks a 1 b 1", 0},
		{"one for somebody else", "locksmith a 1 b 1", time.Second},
		{"none", "", time.Second},
	} {
		bubble(t, func(t *testing.T, s *stage) {
			d := s.open(t, "s:1", "s:2", "s:3")
			l, err := d.Listen(t.Context(), driver.Events{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(timeout + 300*time.Millisecond) // in between two checks
			for _, name := range []string{"s:1", "s:2", "s:3"} {
				s.say(name, "b:1", 2)
			}
			begin := time.Now()
			if c.message != "" {
				if n := s.servers["s:1"].Publish("+switch-master", c.message); n != 1 {
					t.Errorf("%d are subscribed to the sentinel", n)
				}
			}
			<-l.Done()
			if took := time.Since(begin); took > c.within || took == 0 && c.within > 0 {
				t.Errorf("%s: it took %v, want %v", c.name, took, c.within)
			}
			wantServer(t, d, "b:1")
		})
	}
}

// TestWatchTurnsToAnotherSentinel when its own one is frozen, or behind the others, so
// that it does not name the new primary.
func TestWatchTurnsToAnotherSentinel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frozen bool
		limit  time.Duration
	}{{true, 2*time.Second + timeout/3}, {false, 10*time.Second + time.Second/2}} {
		bubble(t, func(t *testing.T, s *stage) {
			d := s.open(t, "s:1", "s:2", "s:3")
			if c.frozen {
				time.Sleep(timeout)
				s.freeze("s:1")
			}
			s.say("s:2", "b:1", 2)
			s.say("s:3", "b:1", 2)
			time.Sleep(c.limit)
			wantServer(t, d, "b:1")
		})
	}
}

// TestOthersAreAskedWhenNoConfiguredSentinelAnswers: one was configured, and named the
// others before it froze.
func TestOthersAreAskedWhenNoConfiguredSentinelAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *stage) {
		s.say("s:1", "a:1", 1, "s:2", "s:3")
		d := s.open(t, "s:1")
		s.freeze("s:1")
		s.say("s:2", "b:1", 2)
		s.say("s:3", "b:1", 2)
		time.Sleep(2 * timeout)
		wantServer(t, d, "b:1")
	})
}

// Goal: a driver that may begin without sentinels, or without a primary, finds the primary when they are there, and
// follows them.
func TestADriverMayBeginWithoutSentinels(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"s:", "a:"} {
		bubble(t, func(t *testing.T, s *stage) {
			var there atomic.Bool
			d := open(t, sentinel.Options{Sentinels: []string{"s:1", "s:2", "s:3"}, Master: "locks", Node: rueidis.Options{
				CommandTimeout: timeout, Tolerate: func(err error) bool { return errors.Is(err, errNobody) },
				Dial: func(ctx context.Context, address string) (net.Conn, error) {
					if !there.Load() && strings.HasPrefix(address, missing) {
						return nil, errNobody
					}
					return s.dial(ctx, address)
				},
			}})
			if reply := d.Do(t.Context(), command("PING")); !errors.Is(reply.Err, driver.ErrNoConnection) || !errors.Is(reply.Err, errNobody) {
				t.Errorf("without %s: %+v", missing, reply)
			}
			there.Store(true)
			wantServer(t, d, "a:1")
			for _, name := range []string{"s:1", "s:2", "s:3"} {
				s.say(name, "b:1", 2)
			}
			time.Sleep(2 * timeout)
			wantServer(t, d, "b:1")
		})
	}
}

// TestReplicaIsNotConnectedTo although the sentinels take it for the primary.
func TestReplicaIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *stage) {
		s.servers["a:1"].Server().Register("ROLE", func(c *server.Peer, _ string, _ []string) {
			c.WriteStrings([]string{"slave", "b", "1"})
		})
		d, err := sentinel.Open(t.Context(), sentinel.Options{Sentinels: []string{"s:1"}, Master: "locks", Node: rueidis.Options{Dial: s.dial}})
		if err == nil {
			d.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "replica") {
			t.Errorf("error %v, want one that says that it is a replica", err)
		}
	})
}

// TestLogsInEverywhere, with a user and password for each kind of server.
func TestLogsInEverywhere(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *stage) {
		s.servers["a:1"].RequireUserAuth("locker", "nodes-secret")
		for _, name := range []string{"s:1", "s:2", "s:3"} {
			s.servers[name].RequireUserAuth("watcher", "watch-secret")
		}
		good := sentinel.Options{
			Sentinels: []string{"s:1", "s:2", "s:3"}, Master: "locks", SentinelUsername: "watcher", SentinelPassword: "watch-secret",
			Node: rueidis.Options{Username: "locker", Password: "nodes-secret", Dial: s.dial},
		}
		do(t, open(t, good), "PING")
		for _, spoil := range []func(*sentinel.Options){
			func(o *sentinel.Options) { o.SentinelPassword = "wrong-secret" },
			func(o *sentinel.Options) { o.Node.Password = "wrong-secret" },
		} {
			bad := good
			spoil(&bad)
			d, err := sentinel.Open(t.Context(), bad)
			if err == nil {
				d.Close()
			}
			if _, ok := errors.AsType[*driver.ServerError](err); !ok || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want the server's refusal and no password", err)
			}
		}
	})
}

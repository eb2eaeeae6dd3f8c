package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestReadyMeansThatAWatchdogCanFindTheClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		if n := s.listeners(s.named()); n != 1 {
			t.Errorf("the pulse %q has %d subscribers", s.named(), n)
		}
		due := score(s)
		if in := time.Until(due); in <= 0 || in > lease/4 {
			t.Errorf("the next heartbeat is due in %v", in)
		}
		s.Ready(t.Context()) // at once
	})
}

func score(s *stage) time.Time {
	ms, _ := strconv.ParseInt(s.do("ZSCORE", protocol.Sessions, s.client).Str, 10, 64)
	return time.UnixMilli(ms)
}

func TestTheHeartbeatIsNeverOverdueWhileTheProcessRuns(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("job")
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if !score(s).After(time.Now()) {
				t.Fatal("it is overdue")
			}
		}
		if ttl := s.do("PTTL", protocol.SessionKey(s.client)).Int; ttl <= lease.Milliseconds() {
			t.Errorf("the session expires in %d ms", ttl)
		}
	})
}

func TestTheSessionSaysWhatIsEnteredAndNotWhatHasLeft(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		s.enter("b")
		s.wantInRedis("after two were entered", "c:1 a", "c:1 b")
		s.driver.set(func() (request, reply bool) { t.Error("what Redis knows is told again"); return false, false })
		s.enter("a")
		synctest.Wait()
		s.driver.set(nil)
		s.leave("a")
		s.wantInRedis("after one has left", "c:1 b")
		s.leave("b")
		s.wantInRedis("after the other has left")
	})
}

func TestASessionThatWasLostOrChangedIsBackAfterTheNextHeartbeat(t *testing.T) {
	for what, spoil := range map[string]func(s *stage){
		"Redis lost everything": func(s *stage) { s.memory.Miniredis().FlushAll() },
		"a watchdog removed it": func(s *stage) { s.do("DEL", protocol.SessionKey(s.client)) },
		"an entry was removed":  func(s *stage) { s.do("HDEL", protocol.SessionKey(s.client), "c:1 a") },
		"an entry was added":    func(s *stage) { s.do("HSET", protocol.SessionKey(s.client), "c:9 x", "exclusive 1 1 0") },
		"nonsense was added":    func(s *stage) { s.do("HSET", protocol.SessionKey(s.client), "x", "y") },
		"another server is in turn": func(s *stage) {
			s.do("ZREM", protocol.Sessions, s.client)
			s.do("HSET", protocol.SessionKey(s.client), "c:1 a", "exclusive 1 1 0")
		},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stage) {
				s.Ready(t.Context())
				s.enter("a")
				s.enter("b")
				synctest.Wait()
				spoil(s)
				time.Sleep(lease/6 + 10*time.Millisecond)
				synctest.Wait()
				s.wantInRedis("after the heartbeat", "c:1 a", "c:1 b")
				if value := s.do("HGET", protocol.SessionKey(s.client), "c:1 a").Str; value != "exclusive 1 6000 0" {
					t.Errorf("an entry is %q", value)
				}
			})
		})
	}
}

func TestALostNoteOrForgettingIsRepeatedSoon(t *testing.T) {
	for what, lose := range map[string][2]bool{"request": {true, false}, "reply": {false, true}} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *stage) {
				s.Ready(t.Context())
				once := func() {
					left := 1
					s.driver.set(func() (bool, bool) { left--; return left == 0 && lose[0], left == 0 && lose[1] })
				}
				once()
				s.enter("a")
				time.Sleep(second / 10)
				s.wantInRedis("after a lost note", "c:1 a")
				once()
				s.leave("a")
				time.Sleep(second / 10)
				s.wantInRedis("after a lost forgetting")
			})
		})
	}
}

// What was told is forgotten, also if it has changed since and Redis was not told of that.
func TestWhatHasChangedIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		for range 20 {
			s.enter("a")
			s.wantInRedis("entered", "c:1 a")
			e := entryOf("a")
			e.Count = 2
			s.Enter(e)
			s.leave("a")
			s.wantInRedis("changed, and left")
		}
	})
}

// The loop is about to tell Redis that an owner has left, and the owner enters again.
func TestWhatIsToldTooLateIsToldAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		synctest.Wait()
		entered := false
		s.driver.before = func(commands []driver.Command) {
			if words := commands[0].Words; !entered && words[len(words)-1] == "c:1 a" {
				entered = true
				s.enter("a")
			}
		}
		s.leave("a")
		s.wantInRedis("at once", "c:1 a")
		if !entered {
			t.Error("the loop told nothing: the test tests nothing")
		}
	})
}

func TestWhatHappensInAnOutageIsToldAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		synctest.Wait()
		s.driver.set(func() (bool, bool) { return true, false })
		time.Sleep(3*second + second/2) // a heartbeat fails
		s.driver.set(func() (bool, bool) { t.Error("a server that does not answer is told of holds"); return true, false })
		s.enter("b")
		s.leave("a")
		synctest.Wait()
		s.driver.set(nil)
		time.Sleep(3 * second)
		synctest.Wait()
		s.wantInRedis("after the outage", "c:1 b")
		if n := s.log.count("no answer to the heartbeat"); n != 1 {
			t.Errorf("the outage was logged %d times", n)
		}
	})
}

// Goal: whatever is lost, in the end Redis says what the registry says.
func TestLongTheSessionAgreesWithTheRegistryAfterRandomLosses(t *testing.T) {
	t.Parallel()
	for round := range redistest.Stretch(20) {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) { randomLosses(t, seed) })
		if t.Failed() {
			t.Fatalf("round %d, seed %d", round, seed)
		}
	}
}

func TestNothingIsLeftAfterStop(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		synctest.Wait()
		pulse := s.Pulse()
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if keys := s.memory.Miniredis().Keys(); len(keys) > 0 {
			t.Errorf("left are %q", keys)
		}
		if n := s.listeners(pulse); n != 0 {
			t.Errorf("the pulse has %d subscribers", n)
		}
	})
}

// The loop owes Redis something that Redis does not take.
func TestStopEndsALoopThatIsNotAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("a")
		synctest.Wait()
		s.driver.set(func() (bool, bool) { return true, false })
		s.leave("a")
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		if err := s.Stop(ctx); err == nil {
			t.Error("it says that Redis was told")
		}
		if took := time.Since(began); took > second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestASessionThatNeverBeganSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.driver.set(func() (bool, bool) { t.Error("something was sent"); return false, false })
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestReadyGoesOnWithoutProtectionAndSaysSoOnce(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.driver.set(func() (bool, bool) { return true, false })
		began := time.Now()
		for range 3 {
			s.Ready(t.Context())
			if took := time.Since(began); took != second {
				t.Errorf("it went on after %v, want %v", took, second)
			}
		}
		if n := s.log.count("going on without protection"); n != 1 {
			t.Errorf("it said so %d times", n)
		}
		s.enter("a")
		s.driver.set(nil)
		time.Sleep(2 * second)
		synctest.Wait()
		s.wantInRedis("when it is answered at last", "c:1 a")
	})
}

// Redis's clock may be any; the end of a hold is told by it.
func TestTheEndOfAnEntryIsToldByTheServersClock(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.memory.Miniredis().SetTime(time.Now().Add(1000 * time.Hour))
		s.Ready(t.Context())
		e := entryOf("a")
		e.Until = time.Now().Add(10 * second)
		s.Enter(e)
		synctest.Wait()
		words := strings.Fields(s.do("HGET", protocol.SessionKey(s.client), e.Key()).Str)
		ms, _ := strconv.ParseInt(words[3], 10, 64)
		now := s.do("TIME").Array
		sec, _ := strconv.ParseInt(now[0].Str, 10, 64)
		if left := time.UnixMilli(ms).Sub(time.Unix(sec, 0)); left < 9*second || left > 11*second {
			t.Errorf("by the server's clock %v are left", left)
		}
	})
}

func TestASessionComesBackWithRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := on(t, server)
	s.Ready(t.Context())
	s.enter("a")
	server.Restart(t)
	redistest.Eventually(t, 20*second, func() bool {
		reply := s.driver.Driver.Do(t.Context(), driver.Command{Words: []string{"HKEYS", protocol.SessionKey(s.client)}})
		return reply.Err == nil && len(reply.Array) == 2 && s.listeners(s.named()) == 1
	}, "session and pulse are back")
}

func randomLosses(t *testing.T, seed uint64) {
	random, luck := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
	bubbled(t, func(s *stage) {
		s.Ready(t.Context())
		s.driver.set(func() (bool, bool) { return luck.IntN(10) == 0, luck.IntN(10) == 0 })
		for range 200 {
			lock := fmt.Sprint(random.IntN(8))
			switch random.IntN(8) {
			case 0, 1, 2:
				s.enter(lock)
			case 3, 4, 5:
				s.leave(lock)
			case 6:
				time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
			case 7:
				if random.IntN(10) == 0 {
					s.memory.Miniredis().FlushAll()
				}
			}
		}
		s.driver.set(nil)
		time.Sleep(3 * second)
		synctest.Wait()
		if got, want := s.inRedis(), s.Keys(); !slices.Equal(got, want) || !s.Confirmed() {
			t.Errorf("Redis has %q, the registry %q", got, want)
		}
	})
}

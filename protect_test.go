package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// What a protected client does, on a server in memory and in fake time. What becomes of
// it when its process is paused is in paused_test.go.

// protected is a story of a protected client, for which a watchdog is alive in name.
func protected(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage)) {
	t.Helper()
	cfg.Protect = true
	story(t, cfg, func(t *testing.T, s *stage) {
		end := watchdogInName(t, s)
		defer func() {
			end()
			for _, c := range s.others {
				_ = c.Close(context.Background())
			}
			wantNothingLeft(t, s)
		}()
		tell(t, s)
	})
}

// watchdogInName says that a watchdog is alive, until end is called.
func watchdogInName(t *testing.T, s *stage) (end func()) {
	alive := func(d time.Duration) {
		runner := script.NewRunner(s.memory, time.Second)
		if _, err := runner.Run(context.WithoutCancel(t.Context()), script.WatchdogHeartbeat("w", d)); err != nil {
			t.Error(err)
		}
	}
	over := make(chan struct{})
	var sending sync.WaitGroup
	alive(10 * time.Second)
	sending.Go(func() {
		tick := time.NewTicker(4 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				alive(10 * time.Second)
			case <-over:
				alive(0)
				return
			}
		}
	})
	return func() { close(over); sending.Wait() }
}

// wantNothingLeft fails if a session or a heartbeat is left in Redis.
func wantNothingLeft(t *testing.T, s *stage) {
	t.Helper()
	for _, key := range s.memory.Miniredis().Keys() {
		if strings.HasPrefix(key, "redlatch:session") {
			t.Errorf("%s is left", key)
		}
	}
}

// session is what Redis has in the session of a client.
func session(m *memory.Driver, c *redlatch.Client) map[string]string {
	all := make(map[string]string)
	key := protocol.SessionKey(c.ID())
	if !m.Miniredis().Exists(key) {
		return all
	}
	fields, _ := m.Miniredis().HKeys(key)
	for _, field := range fields {
		if field == protocol.SessionPulse {
			continue
		}
		all[field] = m.Miniredis().HGet(key, field)
	}
	return all
}

func (s *stage) wantSession(what string, want map[string]string) {
	s.Helper()
	synctest.Wait()
	if got := session(s.memory, s.client); !maps.Equal(got, want) {
		s.Errorf("%s the session is %q, want %q", what, got, want)
	}
}

// sides are all ways to hold a lock.
var sides = map[string]func(c *redlatch.Client) redlatch.Lock{
	"mutex": func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
	"fair":  func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
	"write": func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").Locker() },
	"read":  func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").RLocker() },
}

func TestEveryKindOfHoldIsOnRecordForAsLongAsItIsHeld(t *testing.T) {
	t.Parallel()
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				l, ctx := of(s.client), s.client.WithOwner(t.Context())
				record := func(h *redlatch.Hold, count int) map[string]string {
					field := h.Owner()
					switch side {
					case "write":
						field = protocol.WriterField(field)
					case "read":
						return map[string]string{field + " job": fmt.Sprintf("read %d 30000 0", count)}
					}
					return map[string]string{field + " job": "exclusive 1 30000 0"}
				}
				for range 3 {
					outer := must(l.Lock(ctx))
					s.wantSession("with one hold", record(outer, 1))
					inner := must(l.Lock(ctx))
					s.wantSession("with two holds", record(outer, 2))
					time.Sleep(time.Minute)
					s.wantSession("a minute later", record(outer, 2))
					_ = inner.Unlock(ctx)
					s.wantSession("with one hold again", record(outer, 2))
					_ = outer.Unlock(ctx)
					s.wantSession("released", nil)
				}
				_ = must(l.Lock(t.Context())).Unlock(t.Context())
				s.wantSession("another owner has released", nil)
				fixed := must(l.Lock(t.Context(), redlatch.WithLease(time.Hour)))
				s.wantSession("with a fixed lease", nil)
				_ = fixed.Unlock(t.Context())
				_ = must(l.Lock(t.Context())) // for Close to release
			})
		})
	}
}

func TestNoRecordIsLeftHoweverAnAttemptOrAHoldEnds(t *testing.T) {
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				l, m := of(s.client), s.memory.Miniredis()
				rival := s.other(redlatch.Config{})
				held := must(rival.RWMutex("job").Lock(t.Context()))
				if side == "mutex" || side == "fair" {
					_ = held.Unlock(t.Context())
					held = must(rival.Mutex("job").Lock(t.Context()))
				}
				if _, err := l.TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
					t.Fatal(err)
				}
				s.wantSession("refused", nil)
				var waiting sync.WaitGroup
				for range 3 {
					waiting.Go(func() { _, _ = l.Lock(t.Context(), redlatch.WithWait(20*time.Second)) })
				}
				time.Sleep(10 * time.Second)
				waiting.Wait()
				s.wantSession("given up", nil)
				s.driver.spoil(func(words []string) fate { return isLost })
				if _, err := l.TryLock(t.Context()); err == nil {
					t.Fatal("acquired without an answer")
				}
				s.driver.spoil(nil)
				time.Sleep(10 * time.Second)
				s.wantSession("without an answer", nil)
				_ = held.Unlock(t.Context())

				h := must(l.Lock(t.Context()))
				m.Del("job")
				<-h.Done()
				s.wantSession("lost", nil)
				h = must(l.Lock(t.Context()))
				h.Detach()
				s.wantSession("detached", nil)
				m.FlushAll()
				h = must(l.Lock(t.Context()))
				m.FlushAll()
				time.Sleep(6 * time.Second)
				if h.Err() == nil && len(session(s.memory, s.client)) != 1 {
					t.Error("a held lock is not on record though the client has sent a heartbeat")
				}
			})
		})
	}
}

// A reader cancels its wait while the request that another sent for both is under way.
func TestNoRecordIsLeftOfACompanionThatLeaves(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		tap := s.tap()
		rival := must(s.other(redlatch.Config{}).RWMutex("job").Lock(t.Context()))
		l := s.client.RWMutex("job").RLocker()
		stays, leaveFirst := context.WithCancel(t.Context())
		leaves, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for _, ctx := range []context.Context{stays, leaves} {
			waiting.Go(func() { _, _ = l.Lock(ctx) })
			synctest.Wait()
		}
		time.Sleep(6 * time.Second) // both have been asked for
		if n := len(session(s.memory, s.client)); n != 2 {
			t.Fatalf("%d are on record, want 2", n)
		}
		var left atomic.Bool
		tap.set(func(commands []driver.Command, send sender) []driver.Reply {
			asks := slices.ContainsFunc(commands, func(c driver.Command) bool { return slices.Contains(c.Words, "job") })
			if asks && left.CompareAndSwap(false, true) {
				leave()
				time.Sleep(time.Millisecond) // it leaves
			}
			return send(commands...)
		})
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(session(s.memory, s.client)); n != 1 || !left.Load() {
			t.Errorf("%d are on record, want 1", n)
		}
		leaveFirst()
		waiting.Wait()
		s.wantSession("when the other has left, too,", nil)
		_ = rival.Unlock(t.Context())
	})
}

// Goal: protection costs no round trip.
func TestProtectedHoldsAreTakenAndReleasedInOneRequest(t *testing.T) {
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				l := of(s.client)
				_ = must(l.Lock(t.Context())).Unlock(t.Context())
				for what, act := range map[string]func(){
					"acquired and released": func() { _ = must(l.Lock(t.Context())).Unlock(t.Context()) },
				} {
					before := s.driver.trips.Load()
					act()
					within(t, "requests for a hold that is "+what, s.driver.trips.Load()-before, 2, 2)
				}
			})
		})
	}
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) { // a hand-over
		m := s.client.Mutex("job")
		_ = must(m.Lock(t.Context())).Unlock(t.Context()) // the server knows the scripts
		first := must(m.Lock(t.Context()))
		got := make(chan *redlatch.Hold)
		go func() { got <- must(m.Lock(t.Context())) }()
		time.Sleep(time.Second)
		before := s.driver.trips.Load()
		_ = first.Unlock(t.Context())
		second := <-got
		within(t, "requests for a hand-over", s.driver.trips.Load()-before, 1, 1)
		s.wantSession("after it", map[string]string{second.Owner() + " job": "exclusive 1 30000 0"})
	})
}

func TestAHoldWithAnEndIsOnRecordWithIt(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.Mutex("job").Lock(t.Context(), redlatch.WithMaxHold(time.Minute)))
		until := time.Now().Add(time.Minute).UnixMilli()
		got := session(s.memory, s.client)[h.Owner()+" job"]
		var ms int64
		fmt.Sscanf(got, "exclusive 1 30000 %d", &ms)
		within(t, "the end", time.Duration(ms-until)*time.Millisecond, -5*time.Millisecond, 0)
	})
}

func TestStatsTellOfWatchdogs(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		within(t, "watchdogs before anything is protected", s.client.Stats().Watchdogs, 0, 0)
		must(s.client.Mutex("job").Lock(t.Context()))
		within(t, "watchdogs", s.client.Stats().Watchdogs, 1, 1)
	})
}

// A client that was never asked for a protected hold sends nothing, and has no connection.
func TestAProtectedClientThatHoldsNothingSendsNothing(t *testing.T) {
	t.Parallel()
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		time.Sleep(time.Hour)
		_ = must(s.client.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute))).Unlock(t.Context())
		within(t, "requests", s.driver.trips.Load(), 2, 4)
	})
}

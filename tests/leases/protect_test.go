package leases_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a protected client does, on a server in memory and in fake time. What becomes of
// it when its process is paused is in paused_test.go.

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

func wantSession(s *stage.Stage, what string, want map[string]string) {
	s.Helper()
	synctest.Wait()
	if got := session(s.Memory, s.Client); !maps.Equal(got, want) {
		s.Errorf("%s the session is %q, want %q", what, got, want)
	}
}

// sides are all ways to hold a lock.
var sides = map[string]func(c *redlatch.Client) redlatch.Lock{
	"mutex": func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
	"fair":  func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
	"write": func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job") },
	"read":  func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").RLocker() },
}

func TestEveryKindOfHoldIsOnRecordForAsLongAsItIsHeld(t *testing.T) {
	t.Parallel()
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l, ctx := of(s.Client), s.Client.WithOwner(t.Context())
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
					outer := check.Must(l.Lock(ctx))
					wantSession(s, "with one hold", record(outer, 1))
					inner := check.Must(l.Lock(ctx))
					wantSession(s, "with two holds", record(outer, 2))
					time.Sleep(time.Minute)
					wantSession(s, "a minute later", record(outer, 2))
					_ = inner.Unlock(ctx)
					wantSession(s, "with one hold again", record(outer, 2))
					_ = outer.Unlock(ctx)
					wantSession(s, "released", nil)
				}
				_ = check.Must(l.Lock(t.Context())).Unlock(t.Context())
				wantSession(s, "another owner has released", nil)
				fixed := check.Must(l.Lock(t.Context(), redlatch.WithLease(time.Hour)))
				wantSession(s, "with a fixed lease", nil)
				_ = fixed.Unlock(t.Context())
				_ = check.Must(l.Lock(t.Context())) // for Close to release
			})
		})
	}
}

func TestNoRecordIsLeftHoweverAnAttemptOrAHoldEnds(t *testing.T) {
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l, m := of(s.Client), s.Memory.Miniredis()
				rival := s.Other(redlatch.Config{})
				held := check.Must(rival.RWMutex("job").Lock(t.Context()))
				if side == "mutex" || side == "fair" {
					_ = held.Unlock(t.Context())
					held = check.Must(rival.Mutex("job").Lock(t.Context()))
				}
				if _, err := l.TryLock(t.Context()); !errors.Is(err, redlatch.ErrNotAcquired) {
					t.Fatal(err)
				}
				wantSession(s, "refused", nil)
				var waiting sync.WaitGroup
				for range 3 {
					waiting.Go(func() { _, _ = l.Lock(t.Context(), redlatch.WithWait(20*time.Second)) })
				}
				time.Sleep(10 * time.Second)
				waiting.Wait()
				wantSession(s, "given up", nil)
				s.Driver.Spoil(func(words []string) stage.Fate { return stage.Lost })
				if _, err := l.TryLock(t.Context()); err == nil {
					t.Fatal("acquired without an answer")
				}
				s.Driver.Spoil(nil)
				time.Sleep(10 * time.Second)
				wantSession(s, "without an answer", nil)
				_ = held.Unlock(t.Context())

				h := check.Must(l.Lock(t.Context()))
				m.Del("job")
				<-h.Done()
				wantSession(s, "lost", nil)
				h = check.Must(l.Lock(t.Context()))
				h.Detach()
				wantSession(s, "detached", nil)
				m.FlushAll()
				ticket := check.Must(check.Must(l.Lock(t.Context())).Ticket())
				wantSession(s, "handed over", nil)
				h = check.Must(s.Client.Attach(t.Context(), ticket))
				if synctest.Wait(); len(session(s.Memory, s.Client)) != 1 || s.Client.Stats().Protected != 1 {
					t.Error("what was attached is not on record")
				}
				_, _ = s.Client.Attach(t.Context(), ticket)
				_ = h.Unlock(t.Context())
				wantSession(s, "attached in vain, and released", nil)
				m.FlushAll()
				h = check.Must(l.Lock(t.Context()))
				m.FlushAll()
				time.Sleep(6 * time.Second)
				if h.Err() == nil && len(session(s.Memory, s.Client)) != 1 {
					t.Error("a held lock is not on record though the client has sent a heartbeat")
				}
			})
		})
	}
}

// A reader cancels its wait while the request that another sent for both is under way.
func TestNoRecordIsLeftOfACompanionThatLeaves(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		rival := check.Must(s.Other(redlatch.Config{}).RWMutex("job").Lock(t.Context()))
		l := s.Client.RWMutex("job").RLocker()
		stays, leaveFirst := context.WithCancel(t.Context())
		leaves, leave := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for _, ctx := range []context.Context{stays, leaves} {
			waiting.Go(func() { _, _ = l.Lock(ctx) })
			synctest.Wait()
		}
		time.Sleep(6 * time.Second) // both have been asked for
		if n := len(session(s.Memory, s.Client)); n != 2 {
			t.Fatalf("%d are on record, want 2", n)
		}
		var left atomic.Bool
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			asks := slices.ContainsFunc(commands, func(c driver.Command) bool { return slices.Contains(c.Words, "job") })
			if asks && left.CompareAndSwap(false, true) {
				leave()
				time.Sleep(time.Millisecond) // it leaves
			}
			return send(commands...)
		})
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(session(s.Memory, s.Client)); n != 1 || !left.Load() {
			t.Errorf("%d are on record, want 1", n)
		}
		leaveFirst()
		waiting.Wait()
		wantSession(s, "when the other has left, too,", nil)
		_ = rival.Unlock(t.Context())
	})
}

// Goal: protection costs no round trip.
func TestProtectedHoldsAreTakenAndReleasedInOneRequest(t *testing.T) {
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l := of(s.Client)
				_ = check.Must(l.Lock(t.Context())).Unlock(t.Context())
				for what, act := range map[string]func(){
					"acquired and released": func() { _ = check.Must(l.Lock(t.Context())).Unlock(t.Context()) },
				} {
					before := s.Driver.Trips.Load()
					act()
					check.Within(t, "requests for a hold that is "+what, s.Driver.Trips.Load()-before, 2, 2)
				}
			})
		})
	}
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { // a hand-over
		m := s.Client.Mutex("job")
		_ = check.Must(m.Lock(t.Context())).Unlock(t.Context()) // the server knows the scripts
		first := check.Must(m.Lock(t.Context()))
		got := make(chan *redlatch.Hold)
		go func() { got <- check.Must(m.Lock(t.Context())) }()
		time.Sleep(time.Second)
		before := s.Driver.Trips.Load()
		_ = first.Unlock(t.Context())
		second := <-got
		check.Within(t, "requests for a hand-over", s.Driver.Trips.Load()-before, 1, 1)
		wantSession(s, "after it", map[string]string{second.Owner() + " job": "exclusive 1 30000 0"})
	})
}

func TestAHoldWithAnEndIsOnRecordWithIt(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithMaxHold(time.Minute)))
		until := time.Now().Add(time.Minute).UnixMilli()
		got := session(s.Memory, s.Client)[h.Owner()+" job"]
		var ms int64
		fmt.Sscanf(got, "exclusive 1 30000 %d", &ms)
		check.Within(t, "the end", time.Duration(ms-until)*time.Millisecond, -5*time.Millisecond, 0)
	})
}

func TestStatsTellOfWatchdogs(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		check.Within(t, "watchdogs before anything is protected", s.Client.Stats().Watchdogs, 0, 0)
		check.Must(s.Client.Mutex("job").Lock(t.Context()))
		check.Within(t, "watchdogs", s.Client.Stats().Watchdogs, 1, 1)
	})
}

// A client that was never asked for a protected hold sends nothing, and has no connection.
func TestAProtectedClientThatHoldsNothingSendsNothing(t *testing.T) {
	t.Parallel()
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		time.Sleep(time.Hour)
		_ = check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute))).Unlock(t.Context())
		check.Within(t, "requests", s.Driver.Trips.Load(), 2, 4)
	})
}

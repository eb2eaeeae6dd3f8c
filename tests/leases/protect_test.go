package leases_test

import (
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

// record is what the session says of so many holds of one owner.
func record(side string, h *redlatch.Hold, count int) map[string]string {
	field := h.Owner()
	switch side {
	case "write":
		field = protocol.WriterField(field)
	case "read":
		return map[string]string{field + " job": fmt.Sprintf("read %d 30000 0", count)}
	}
	return map[string]string{field + " job": "exclusive 1 30000 0"}
}

func TestEveryKindOfHoldIsOnRecordForAsLongAsItIsHeld(t *testing.T) {
	t.Parallel()
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l, ctx := of(s.Client), s.Client.WithOwner(t.Context())
				for range 3 {
					outer := check.Must(l.Lock(ctx))
					wantSession(s, "with one hold", record(side, outer, 1))
					inner := check.Must(l.Lock(ctx))
					wantSession(s, "with two holds", record(side, outer, 2))
					time.Sleep(time.Minute)
					wantSession(s, "a minute later", record(side, outer, 2))
					_ = inner.Unlock(ctx)
					wantSession(s, "with one hold again", record(side, outer, 2))
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
				wantSession(s, "waiting", nil)
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

// Goal: protection adds nothing to the requests of Lock and Unlock, nor to a hand-over, and a hold is on record when its
// client has heard from the server once more. Method: requests that take a while.
func TestProtectionIsToldAside(t *testing.T) {
	const trip = 10 * time.Millisecond
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				l, tap := of(s.Client), s.Tap()
				known := check.Must(l.Lock(t.Context())) // the server knows the scripts
				synctest.Wait()
				_ = known.Unlock(t.Context())
				synctest.Wait()
				var requests atomic.Int64
				tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					about := func(key string) bool {
						return slices.ContainsFunc(commands, func(c driver.Command) bool { return c.Key == key })
					}
					if about("job") {
						requests.Add(1)
						if about(protocol.SessionKey(s.Client.ID())) {
							t.Error("a request about a lock tells the session, too")
						}
					}
					time.Sleep(trip)
					return send(commands...)
				})
				first := check.Must(l.Lock(t.Context()))
				time.Sleep(trip)
				wantSession(s, "a round trip after Lock", record(side, first, 1))
				got := make(chan *redlatch.Hold, 1)
				go func() { got <- check.Must(of(s.Client).Lock(t.Context())) }()
				time.Sleep(time.Second)
				before := requests.Load()
				_ = first.Unlock(t.Context())
				second := <-got
				if side == "mutex" || side == "write" {
					check.Within(t, "requests for a hand-over", requests.Load()-before, 1, 1)
				}
				time.Sleep(2 * trip) // one for what it was telling meanwhile
				wantSession(s, "after the hand-over", record(side, second, 1))
				before = requests.Load()
				_ = second.Unlock(t.Context())
				_ = check.Must(l.Lock(t.Context())).Unlock(t.Context())
				check.Within(t, "requests for a release and a pair", requests.Load()-before, 3, 3)
			})
		})
	}
}

func TestWhatIsNotRenewedAnyMoreIsNotOnRecord(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		both := check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b")))
		h := check.Must(both.Lock(t.Context()))
		if synctest.Wait(); len(session(s.Memory, s.Client)) != 2 {
			t.Error("the members of a whole are not on record")
		}
		_ = h.Unlock(t.Context())
		h = check.Must(both.Lock(t.Context(), redlatch.WithLease(time.Minute)))
		wantSession(s, "of a whole with a fixed lease", nil)
		_ = h.Unlock(t.Context())

		ctx, rw := s.Client.WithOwner(t.Context()), s.Client.RWMutex("job")
		w := check.Must(rw.Lock(ctx))
		r := check.Must(rw.RLocker().Lock(ctx))
		s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
		_ = w.Unlock(ctx) // without an answer
		s.Driver.Spoil(nil)
		time.Sleep(10 * time.Second)
		wantSession(s, "after a downgrade", record("read", r, 1))
		_ = r.Unlock(ctx)
	})
}

func TestAHoldWithAnEndIsOnRecordWithIt(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithMaxHold(time.Minute)))
		until := time.Now().Add(time.Minute).UnixMilli()
		synctest.Wait()
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

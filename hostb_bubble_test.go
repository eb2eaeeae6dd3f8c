package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// Hostile reading, role two: what the library's own users can do. Red where it is broken.

// A reader inside a write hold has a timeout key with the lease of the reader alone. The
// trust of the write hold is taken over by the tenure, and is longer.
func TestHostBAShortReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
	for what, opts := range map[string][2][]redlatch.LockOption{
		"renewed write, fixed read": {nil, {redlatch.WithLease(5 * time.Second)}},
		"fixed write, fixed read":   {{redlatch.WithLease(time.Minute)}, {redlatch.WithLease(5 * time.Second)}},
		"fixed write, read with an end": {{redlatch.WithLease(time.Minute)},
			{redlatch.WithLease(5 * time.Second), redlatch.WithMaxHold(50 * time.Second)}},
	} {
		t.Run(what, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
				w := must(m.Lock(ctx, opts[0]...))
				r := must(m.RLock(ctx, opts[1]...))
				if err := w.Unlock(ctx); err != nil {
					t.Fatal(err)
				}
				s.wantAlone(r, lockKinds[3])
			})
		})
	}
}

// The same with a reader that is renewed, in an outage.
func TestHostBARenewedReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.RWMutex("job")
		w := must(m.Lock(ctx, redlatch.WithLease(5*time.Minute)))
		r := must(m.RLock(ctx))
		if err := w.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		s.driver.spoil(func([]string) fate { return isLost })
		defer s.driver.spoil(nil)
		s.wantAlone(r, lockKinds[3])
	})
}

// The brace rule gives "a" and "{a}" one channel. In a process they then stand in one line.
func TestHostBTwoLocksOfOneChannelDoNotWaitForEachOther(t *testing.T) {
	for _, k := range lockKinds[:3] {
		t.Run(k.name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				h := must(k.lock(s.client, "a").Lock(s.limited()))
				go func() {
					next, err := k.lock(s.client, "a").Lock(s.limited())
					if err == nil {
						_ = next.Unlock(context.Background())
					}
				}()
				synctest.Wait()
				// "{a}" is free, and another key.
				other, err := k.lock(s.client, "{a}").Lock(s.limited(), redlatch.WithWait(time.Minute))
				if err != nil {
					t.Errorf("the lock {a} is free, exists: %v, and a minute of waiting for it gave %v",
						s.memory.Miniredis().Exists("{a}"), err)
				} else {
					_ = other.Unlock(context.Background())
				}
				_ = h.Unlock(context.Background())
				time.Sleep(10 * time.Second)
			})
		})
	}
}

// From several processes: a fair lock that is free is refused because somebody waits for another.
func TestHostBFairLocksOfOneQueueAcrossProcesses(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		h := must(s.client.FairMutex("a").Lock(s.limited()))
		go func() {
			if next, err := s.stranger().FairMutex("a").Lock(s.limited()); err == nil {
				_ = next.Unlock(context.Background())
			}
		}()
		synctest.Wait()
		other, err := s.stranger().FairMutex("{a}").TryLock(s.limited())
		if err != nil {
			t.Errorf("{a} is free and nobody waits for it: %v", err)
		} else {
			_ = other.Unlock(context.Background())
		}
		_ = h.Unlock(context.Background())
		time.Sleep(10 * time.Second)
	})
}

// Members that were lost and are restored begin their MaxHold anew.
func TestHostBAQuorumEndsByItsMaxHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		var locks []redlatch.Lock
		var servers []*memory.Driver
		for range 3 {
			m := must(memory.Open(ctx, ""))
			c := must(redlatch.New(m, quiet(redlatch.Config{RestartDelay: -1})))
			defer m.Close()
			defer c.Close(ctx)
			servers, locks = append(servers, m), append(locks, c.Mutex("job"))
		}
		began := time.Now()
		h := must(redlatch.NewQuorum(locks...).Lock(ctx, redlatch.WithMaxHold(time.Minute)))
		go func() { // one server after another is restarted empty
			for i, after := range []time.Duration{5 * time.Second, 16 * time.Second} {
				time.Sleep(after)
				servers[i].Miniredis().FlushAll()
			}
		}()
		select {
		case <-h.Done():
		case <-time.After(20 * time.Minute):
		}
		if held := time.Since(began); held > time.Minute {
			t.Errorf("WithMaxHold(1m): after %v: Err %v, Valid %v", held, h.Err(), h.Valid())
		}
		_ = h.Unlock(ctx)
	})
}

// A PollCap of "never", and a fair lock that is contended.
func TestHostBTheLongestPollCapDoesNotPanic(t *testing.T) {
	for _, most := range []time.Duration{math.MaxInt64, math.MaxInt64 / 5} {
		story(t, redlatch.Config{PollCap: most}, func(t *testing.T, s *stage) {
			h := must(s.client.FairMutex("job").Lock(s.limited()))
			got := make(chan any, 1)
			go func() {
				defer func() { got <- recover() }()
				next, err := s.client.FairMutex("job").Lock(s.limited(), redlatch.WithWait(time.Minute))
				if err == nil {
					_ = next.Unlock(context.Background())
				}
			}()
			time.Sleep(5 * time.Second)
			_ = h.Unlock(context.Background())
			if r := <-got; r != nil {
				t.Errorf("PollCap %v, which Config accepts: Lock panics: %v", most, r)
			}
		})
	}
}

// An inner hold that comes and goes makes a fixed outer lease longer and longer.
func TestHostBAFixedLeaseIsNotMadeLongerByInnerHolds(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		began := time.Now()
		outer := must(m.Lock(ctx, redlatch.WithLease(10*time.Second)))
		for outer.Valid() && time.Since(began) < 5*time.Minute {
			inner := must(m.Lock(ctx, redlatch.WithLease(20*time.Millisecond)))
			_ = inner.Unlock(ctx)
			time.Sleep(5 * time.Second)
		}
		if held := time.Since(began); held > 11*time.Second {
			t.Errorf("a hold with WithLease(10s) and inner ones of 20 ms is valid after %v", held)
		}
		_ = outer.Unlock(ctx)
	})
}

// 65,536 is the highest count that the scripts take for one.
// It takes minutes of CPU, which is a finding of its own: each re-entry looks at all holds.
func TestHostBAnOwnerMayNotReenterUntilItsLockIsNone(t *testing.T) {
	if stretch(1) == 1 {
		t.Skip("takes four minutes: REDLATCH_STRETCH=2")
	}
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		var holds []*redlatch.Hold
		for range 65_537 {
			h, err := m.Lock(ctx, redlatch.WithLease(24*time.Hour))
			if err != nil {
				t.Logf("hold %d: %v", len(holds)+1, err)
				break
			}
			holds = append(holds, h)
		}
		t.Logf("%d holds", len(holds))
		if _, err := m.Status(ctx); err != nil {
			t.Error("Status of a lock that is held:", err)
		}
		if _, err := s.stranger().Mutex("job").TryLock(s.limited()); !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Error("TryLock of another:", err)
		}
		holds[0].Detach()
	})
}

// A log handler hangs. Unlock is bounded by ReleaseTimeout, Close by the client's timeouts.
func TestHostBABlockedLogHandlerHoldsNobodyUp(t *testing.T) {
	stuck := make(chan struct{})
	log := slog.New(handler(func(string) { <-stuck }))
	synctest.Test(t, func(t *testing.T) {
		stuck = make(chan struct{})
		m := must(memory.Open(context.WithoutCancel(t.Context()), ""))
		c := must(redlatch.New(m, redlatch.Config{Logger: log}))
		ctx := context.WithoutCancel(t.Context())
		short := must(c.Mutex("short").Lock(ctx, redlatch.WithLease(time.Second)))
		h := must(c.Mutex("job").Lock(ctx))
		<-short.Done()
		synctest.Wait() // the handler blocks
		closed := make(chan error, 1)
		go func() { closed <- c.Close(ctx) }()
		synctest.Wait()
		unlocked := make(chan error, 1)
		go func() { unlocked <- h.Unlock(ctx) }()
		time.Sleep(time.Hour)
		select {
		case err := <-unlocked:
			t.Log("Unlock:", err)
		default:
			t.Error("Unlock, bounded by ReleaseTimeout, has not returned after an hour")
		}
		select {
		case err := <-closed:
			t.Log("Close:", err)
		default:
			t.Error("Close, every part of which is bounded by the client's own timeouts, has not returned after an hour")
		}
		close(stuck)
		time.Sleep(time.Second)
		m.Close()
	})
}

type observer func(redlatch.Event)

func (o observer) Observe(e redlatch.Event) { o(e) }

// An observer panics in the caller's goroutine, which recovers, as a web server does.
func TestHostBAPanickingObserverLeavesNoHoldBehind(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		c := s.other(redlatch.Config{Observer: observer(func(e redlatch.Event) {
			if e.Kind == redlatch.Acquired {
				panic("observer")
			}
		})})
		func() {
			defer func() { _ = recover() }()
			_, _ = c.Mutex("job").Lock(s.limited())
		}()
		time.Sleep(10 * time.Minute)
		if s.memory.Miniredis().Exists("job") {
			t.Errorf("nobody has the hold, and it is renewed for ever: %+v", c.Stats())
		}
		ctx := c.WithOwner(s.limited())
		func() {
			defer func() { _ = recover() }()
			_, _ = c.Mutex("other").Lock(ctx)
		}()
	})
}

// An observer that is told of a loss ends the client, as one does that cannot go on.
func TestHostBAnObserverMayCloseItsClient(t *testing.T) {
	for _, kind := range []redlatch.EventKind{redlatch.Lost, redlatch.Acquired, redlatch.Released} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.WithoutCancel(t.Context())
				m := must(memory.Open(ctx, ""))
				var c *redlatch.Client
				done := make(chan error, 1)
				c = must(redlatch.New(m, quiet(redlatch.Config{Observer: observer(func(e redlatch.Event) {
					if e.Kind == kind {
						limited, cancel := context.WithTimeout(ctx, time.Hour)
						defer cancel()
						select {
						case done <- c.Close(limited):
						default:
						}
					}
				})})))
				h, err := c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Second))
				if err == nil && kind == redlatch.Released {
					_ = h.Unlock(ctx)
				}
				if err := <-done; err != nil {
					t.Errorf("Close, called by the observer of %q, waits for the observer: %v", kind, err)
				}
				_ = c.Close(ctx)
				m.Close()
			})
		})
	}
}

// A neighbour chooses what stands in our errors and so in our users' logs.
func TestHostBAnOwnersNameIsQuotedInErrors(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.memory.Miniredis().HSet("job", "x\n2026-11-22 level=INFO msg=\"all is well\"\x1b[2J", "1")
		_, err := s.client.Mutex("job").TryLock(s.limited())
		for _, r := range fmt.Sprint(err) {
			if r < ' ' {
				t.Fatalf("the error carries %U: %q", r, err)
			}
		}
	})
}

// Two goroutines of one owner that holds the lock: neither is "held by another".
func TestHostBTryLockReentersWhileAnotherGoroutineOfTheOwnerDoes(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m, net := s.client.WithOwner(s.limited()), s.client.Mutex("job"), s.tap()
		_ = net
		outer := must(m.Lock(ctx))
		errs := make(chan error, 20)
		for range 20 {
			go func() {
				h, err := m.TryLock(ctx)
				if err == nil {
					_ = h.Unlock(ctx)
				}
				errs <- err
			}()
		}
		n := 0
		for range 20 {
			if err := <-errs; errors.Is(err, redlatch.ErrNotAcquired) {
				n++
			}
		}
		if n > 0 {
			t.Errorf("%d of 20 TryLocks of the owner that holds the lock said that another holds it (ErrNotAcquired)", n)
		}
		_ = outer.Unlock(ctx)
	})
}

package redlatch_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// Hostile reading, role two: what the library's own users can do. Red where it is broken.

// A reader inside a write hold has a timeout key with the lease of the reader alone. The
// trust of the write hold is taken over by the tenure, and is longer.
func TestAShortReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
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
func TestARenewedReadInsideALongWriteIsNotTrustedBeyondItsTimeoutKey(t *testing.T) {
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

// A log handler hangs. Unlock is bounded by ReleaseTimeout, Close by the client's timeouts.
func TestABlockedLogHandlerHoldsNobodyUp(t *testing.T) {
	stuck := make(chan struct{})
	log := slog.New(handler(func(string) { <-stuck }))
	synctest.Test(t, func(t *testing.T) {
		stuck = make(chan struct{})
		m := must(memory.Open(context.WithoutCancel(t.Context()), memory.Options{}))
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

type observer func(context.Context, redlatch.Event)

func (o observer) Observe(ctx context.Context, e redlatch.Event) { o(ctx, e) }

// An observer panics in the caller's goroutine, which recovers, as a web server does.
func TestAPanickingObserverLeavesNoHoldBehind(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		c := s.other(redlatch.Config{Observer: observer(func(_ context.Context, e redlatch.Event) {
			if e.Kind == redlatch.EventAcquired {
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
func TestAnObserverMayCloseItsClient(t *testing.T) {
	for _, kind := range []redlatch.EventKind{redlatch.EventLost, redlatch.EventAcquired, redlatch.EventReleased} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.WithoutCancel(t.Context())
				m := must(memory.Open(ctx, memory.Options{}))
				var c *redlatch.Client
				done := make(chan error, 1)
				c = must(redlatch.New(m, quiet(redlatch.Config{Observer: observer(func(_ context.Context, e redlatch.Event) {
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
				if err == nil && kind == redlatch.EventReleased {
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

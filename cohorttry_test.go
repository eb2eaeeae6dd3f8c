package redlatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// Cohorts: what two rare things at once must not do.

// Goal: readers do not exclude one another. Method: two of them try at once, with and without a
// cohort.
func TestReadersThatTryAtOnceBothEnter(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			net, l := s.tap(), s.client.RWMutex("job").RLocker()
			net.set(func(commands []driver.Command, send sender) []driver.Reply {
				time.Sleep(time.Millisecond)
				return send(commands...)
			})
			errs := make(chan error, 2)
			for range cap(errs) {
				go func() {
					_, err := l.TryLock(s.limited(), opts...)
					errs <- err
				}()
			}
			is(t, "TryLock", errors.Join(<-errs, <-errs), nil)
		})
	}
}

// Goal: what this client has released is free for it. Method: TryLock while the release of a hold
// that nobody wants is under way.
func TestTryLockFindsALockFreeThatNobodyHolds(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			net, m := s.tap(), s.client.Mutex("job")
			_ = must(m.Lock(s.limited(), opts...)).Unlock(s.limited())
			net.set(func(commands []driver.Command, send sender) []driver.Reply {
				if commands[0].Words[0] == "HDEL" {
					time.Sleep(time.Millisecond) // on its way; other requests use another connection
				}
				return send(commands...)
			})
			time.Sleep(1500 * time.Microsecond)
			_, err := m.TryLock(s.limited(), opts...)
			is(t, "TryLock", err, nil)
		})
	}
}

// Goal: ReleaseTimeout bounds Unlock, and Detach asks nobody. Method: a re-entry of the owner is
// never answered.
func TestAReentryThatHangsHoldsUpTheEndOfAHoldForABoundedTime(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		for what, end := range map[string]struct {
			of   func(h *redlatch.Hold)
			most time.Duration
		}{
			"Unlock": {func(h *redlatch.Hold) { _ = h.Unlock(context.Background()) }, 3*time.Second + 250*time.Millisecond},
			"Detach": {func(h *redlatch.Hold) { h.Detach() }, 0},
		} {
			story(t, redlatch.Config{CommandTimeout: time.Minute}, func(t *testing.T, s *stage) {
				net, m := s.tap(), s.client.Mutex("job")
				ctx := s.client.WithOwner(s.limited())
				h := must(m.Lock(ctx, opts...))
				net.set(silent)
				defer net.set(nil)
				go func() { _, _ = m.Lock(ctx) }()
				synctest.Wait()
				began := time.Now()
				end.of(h)
				within(t, what, time.Since(began), 0, end.most)
			})
		}
	}
}

// The same for TryLock, which does not wait, and for a caller that is gone.
func TestTryLockOfACohortDoesNotWaitForARelease(t *testing.T) {
	story(t, redlatch.Config{ReleaseTimeout: 5 * time.Second, CommandTimeout: 5 * time.Second}, func(t *testing.T, s *stage) {
		net, m := s.tap(), s.client.Mutex("job")
		h := must(m.Lock(s.limited(), passing))
		time.Sleep(stay)
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			if commands[0].Words[0] == "HDEL" {
				time.Sleep(4 * time.Second)
			}
			return send(commands...)
		})
		_ = h.Unlock(s.limited())
		ctx, cancel := context.WithTimeout(s.limited(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, _ = m.TryLock(ctx, passing)
		within(t, "TryLock below a context of 50 ms", time.Since(began), 0, 200*time.Millisecond)
		net.set(nil)
	})
}

// Goal: a token belongs to its hold, also after its end: the late write of a holder that is over
// must not have the token of the next one.
func TestTheTokenOfAReentryThatIsOverStays(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m, fenced := s.client.Mutex("job"), redlatch.WithFencing()
		ctx := s.client.WithOwner(s.limited())
		h := must(m.Lock(ctx, passing, fenced))
		inner := must(m.Lock(ctx, fenced))
		had := inner.Token()
		_ = inner.Unlock(ctx)
		_ = h.Unlock(ctx)
		other := s.client.WithOwner(s.limited())
		next := must(m.Lock(other, passing, fenced))
		if got := inner.Token(); got != had || got >= next.Token() {
			t.Errorf("the token was %d, and is %d after the next holder got %d", had, got, next.Token())
		}
		_ = next.Unlock(other)
	})
}

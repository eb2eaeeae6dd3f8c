package redlatch_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What a cohort owes its callers when rare things meet.

// Goal: each hold needs its own confirmation, also if it re-enters. Method: a server without
// replicas, and an owner whose outer hold did not ask for any.
func TestAReentryOfACohortAsksForItsReplicas(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		for _, inner := range [][]redlatch.LockOption{nil, {passing}} {
			outer := must(m.Lock(ctx, passing))
			_, err := m.Lock(ctx, append(inner, redlatch.WithReplicas(1, time.Second))...)
			is(t, "Lock", err, redlatch.ErrNotReplicated)
			if err := outer.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// Goal: no reader is told that all was well before Redis has been asked. Method: two readers, a
// pause, and a writer in between.
func TestAnUnconfirmedReaderAsksRedisAtItsEnd(t *testing.T) {
	protected(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, m := context.WithoutCancel(t.Context()), s.client.RWMutex("job")
		one, other := must(m.RLock(ctx, passing)), must(m.RLock(ctx, passing))
		end := s.stallRenewals()
		synctest.Wait()
		time.Sleep(62 * time.Second)
		s.memory.Miniredis().Del("job")
		rival := must(s.other(redlatch.Config{}).RWMutex("job").Lock(ctx))
		is(t, "Unlock of the first", one.Unlock(ctx), redlatch.ErrLost)
		is(t, "Unlock of the last", other.Unlock(ctx), redlatch.ErrLost)
		end()
		_ = rival.Unlock(ctx)
	})
}

// silent answers nothing.
func silent(commands []driver.Command, _ sender) []driver.Reply {
	time.Sleep(200 * time.Millisecond)
	return failAll(commands, errCut)
}

// Goal: the wait of a caller bounds it, also if it is the one that gives up the old hold. Method: the
// server is silent when the time of the cohort is over.
func TestWhoGivesUpTheOldHoldWaitsNoLongerThanItMay(t *testing.T) {
	story(t, redlatch.Config{ReleaseTimeout: 20 * time.Second}, func(t *testing.T, s *stage) {
		net, m := s.tap(), s.client.Mutex("job")
		h := must(m.Lock(s.limited(), passing))
		time.Sleep(stay)
		net.set(silent)
		defer net.set(nil)
		failed := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := m.Lock(s.limited(), passing, redlatch.WithWait(time.Second))
			failed <- err
		}()
		synctest.Wait()
		_ = h.Unlock(s.limited())
		if err := <-failed; err == nil {
			t.Error("Lock got the lock")
		}
		within(t, "a wait of a second", time.Since(began), time.Second, 2*time.Second)
	})
}

// Goal: a client that closes gives no lock out. Method: a request of another lock holds Close up.
func TestACohortThatClosesLetsNobodyIn(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
			net, m := s.tap(), s.client.Mutex("job")
			_ = must(m.Lock(s.limited(), opts...)).Unlock(s.limited())
			answer := make(chan struct{})
			net.set(func(commands []driver.Command, send sender) []driver.Reply {
				<-answer
				return send(commands...)
			})
			go func() { _, _ = s.client.Mutex("other").Lock(s.limited()) }()
			synctest.Wait()
			go func() { _ = s.client.Close(s.limited()) }()
			synctest.Wait()
			_, err := m.Lock(s.limited(), opts...)
			is(t, "Lock", err, redlatch.ErrClosed)
			close(answer)
		})
	}
}

// Goal: whoever panics while it asks leaves the lock to the others. Method: a log handler that panics
// when the client goes on without protection.
func TestAPanicWhileACohortAsksCostsNobodyElseTheLock(t *testing.T) {
	log := slog.New(handler(func(message string) {
		if strings.Contains(message, "going on without protection: the session is not acknowledged yet") {
			panic("the log is full")
		}
	}))
	story(t, redlatch.Config{Logger: log, Protect: true}, func(t *testing.T, s *stage) {
		net, m := s.tap(), s.client.Mutex("job")
		net.set(silent)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("nobody panicked")
				}
			}()
			_, _ = m.Lock(s.limited(), passing)
		}()
		net.set(nil)
		_, err := m.Lock(s.limited(), passing, redlatch.WithWait(time.Minute))
		is(t, "the next Lock", err, nil)
	})
}

// Goal: who holds nothing may write. Method: two owners read in one cohort; while a re-entry of one
// is not answered, the other ends.
func TestAnOwnerThatReadsNoMoreMayWrite(t *testing.T) {
	story(t, redlatch.Config{CommandTimeout: 10 * time.Second}, func(t *testing.T, s *stage) {
		net, m := s.tap(), s.client.RWMutex("job")
		a, b := s.client.WithOwner(s.limited()), s.client.WithOwner(s.limited())
		one, other := must(m.RLock(a, passing)), must(m.RLock(b, passing))
		net.set(silent)
		go func() { _, _ = m.RLock(b) }()
		synctest.Wait()
		_ = one.Unlock(a)
		net.set(nil)
		time.Sleep(10 * time.Second)
		_, err := m.Lock(a, redlatch.WithWait(time.Millisecond))
		is(t, "Lock of one who holds nothing", err, redlatch.ErrNotAcquired)
		_ = other.Unlock(b)
	})
}

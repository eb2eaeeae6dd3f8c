package cohorts_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Cohorts: what two rare things at once must not do.

// Goal: readers do not exclude one another. Method: two of them try at once, with and without a
// cohort.
func TestReadersThatTryAtOnceBothEnter(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			net, l := s.Tap(), s.Client.RWMutex("job").RLocker()
			net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(time.Millisecond)
				return send(commands...)
			})
			errs := make(chan error, 2)
			for range cap(errs) {
				go func() {
					_, err := l.TryLock(s.Limited(), opts...)
					errs <- err
				}()
			}
			check.Is(t, "TryLock", errors.Join(<-errs, <-errs), nil)
		})
	}
}

// Goal: what this client has released is free for it. Method: TryLock while the release of a hold
// that nobody wants is under way.
func TestTryLockFindsALockFreeThatNobodyHolds(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			net, m := s.Tap(), s.Client.Mutex("job")
			_ = check.Must(m.Lock(s.Limited(), opts...)).Unlock(s.Limited())
			net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				if commands[0].Words[0] == "HDEL" {
					time.Sleep(time.Millisecond) // on its way; other requests use another connection
				}
				return send(commands...)
			})
			time.Sleep(1500 * time.Microsecond)
			_, err := m.TryLock(s.Limited(), opts...)
			check.Is(t, "TryLock", err, nil)
		})
	}
}

// The same for TryLock, which does not wait, and for a caller that is gone.
func TestTryLockOfACohortDoesNotWaitForARelease(t *testing.T) {
	stage.Story(t, redlatch.Config{ReleaseTimeout: 5 * time.Second, CommandTimeout: 5 * time.Second}, func(t *testing.T, s *stage.Stage) {
		net, m := s.Tap(), s.Client.Mutex("job")
		h := check.Must(m.Lock(s.Limited(), passing))
		time.Sleep(stage.Stay)
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if commands[0].Words[0] == "HDEL" {
				time.Sleep(4 * time.Second)
			}
			return send(commands...)
		})
		_ = h.Unlock(s.Limited())
		ctx, cancel := context.WithTimeout(s.Limited(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, _ = m.TryLock(ctx, passing)
		check.Within(t, "TryLock below a context of 50 ms", time.Since(began), 0, 200*time.Millisecond)
		net.Set(nil)
	})
}

// Goal: who only tries stands in no line. Method: it tries while the release of a hold that nobody wants is
// under way, behind a caller that waits and then works for ten minutes.
func TestTryLockDoesNotStandBehindAnotherGoroutinesHold(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net, m := s.Tap(), s.Client.Mutex("job")
		_ = check.Must(m.Lock(s.Limited(), passing)).Unlock(s.Limited())
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if commands[0].Words[0] == "HDEL" {
				time.Sleep(time.Second)
			}
			return send(commands...)
		})
		time.Sleep(20 * time.Millisecond)
		work := make(chan struct{})
		go func() {
			h := check.Must(m.Lock(s.Limited(), passing))
			time.Sleep(10 * time.Minute)
			_ = h.Unlock(s.Limited())
			close(work)
		}()
		synctest.Wait()
		began := time.Now()
		h, err := m.TryLock(s.Limited(), passing)
		check.Within(t, "TryLock", time.Since(began), 0, 2*time.Second)
		if err == nil { // it came first
			err = h.Unlock(s.Limited())
		}
		if !errors.Is(err, redlatch.ErrNotAcquired) {
			check.Is(t, "TryLock", err, nil)
		}
		<-work
	})
}

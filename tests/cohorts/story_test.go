package cohorts_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What a cohort owes its callers when rare things meet.

// Goal: no reader is told that all was well before Redis has been asked. Method: two readers, a
// pause, and a writer in between.
func TestAnUnconfirmedReaderAsksRedisAtItsEnd(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := context.WithoutCancel(t.Context()), s.Client.RWMutex("job")
		one, other := check.Must(m.RLock(ctx, passing)), check.Must(m.RLock(ctx, passing))
		end := s.StallRenewals()
		synctest.Wait()
		time.Sleep(62 * time.Second)
		s.Memory.Miniredis().Del("job")
		rival := check.Must(s.Other(redlatch.Config{}).RWMutex("job").Lock(ctx))
		check.Is(t, "Unlock of the first", one.Unlock(ctx), redlatch.ErrLost)
		check.Is(t, "Unlock of the last", other.Unlock(ctx), redlatch.ErrLost)
		end()
		_ = rival.Unlock(ctx)
	})
}

// silent answers nothing.
func silent(commands []driver.Command, _ stage.Sender) []driver.Reply {
	time.Sleep(200 * time.Millisecond)
	return stage.FailAll(commands, stage.ErrCut)
}

// Goal: the wait of a caller bounds it, also if it is the one that gives up the old hold. Method: the
// server is silent when the time of the cohort is over.
func TestWhoGivesUpTheOldHoldWaitsNoLongerThanItMay(t *testing.T) {
	stage.Story(t, redlatch.Config{ReleaseTimeout: 20 * time.Second}, func(t *testing.T, s *stage.Stage) {
		net, m := s.Tap(), s.Client.Mutex("job")
		h := check.Must(m.Lock(s.Limited(), passing))
		time.Sleep(stage.Stay)
		net.Set(silent)
		defer net.Set(nil)
		failed := make(chan error, 1)
		began := time.Now()
		go func() {
			_, err := m.Lock(s.Limited(), passing, redlatch.WithWait(time.Second))
			failed <- err
		}()
		synctest.Wait()
		_ = h.Unlock(s.Limited())
		if err := <-failed; err == nil {
			t.Error("Lock got the lock")
		}
		check.Within(t, "a wait of a second", time.Since(began), time.Second, 2*time.Second)
	})
}

// Goal: a client that closes gives no lock out. Method: a request of another lock holds Close up.
func TestACohortThatClosesLetsNobodyIn(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			net, m := s.Tap(), s.Client.Mutex("job")
			_ = check.Must(m.Lock(s.Limited(), opts...)).Unlock(s.Limited())
			answer := make(chan struct{})
			net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				<-answer
				return send(commands...)
			})
			go func() { _, _ = s.Client.Mutex("other").Lock(s.Limited()) }()
			synctest.Wait()
			go func() { _ = s.Client.Close(s.Limited()) }()
			synctest.Wait()
			_, err := m.Lock(s.Limited(), opts...)
			check.Is(t, "Lock", err, redlatch.ErrClosed)
			close(answer)
		})
	}
}

// Goal: whoever ends its goroutine while it asks leaves the lock to the others. Method: a driver that does so.
func TestAGoroutineThatEndsWhileItAsksCostsNobodyElseTheLock(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net, m := s.Tap(), s.Client.Mutex("job")
		net.Set(func([]driver.Command, stage.Sender) []driver.Reply { runtime.Goexit(); return nil })
		go func() {
			if h, err := m.Lock(s.Limited(), passing); err == nil { // when the driver works again
				_ = h.Unlock(s.Limited())
			}
		}()
		synctest.Wait()
		net.Set(nil)
		_, err := m.Lock(s.Limited(), passing, redlatch.WithWait(time.Minute))
		check.Is(t, "the next Lock", err, nil)
	})
}

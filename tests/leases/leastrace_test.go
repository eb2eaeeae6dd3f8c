package leases_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Interleavings of least times, extensions and shutdowns.

// tardy answers those commands that match only after a while. They are carried out before that, or after.
func tardy(after bool, delay time.Duration, match func(words []string) bool) stage.Around {
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if !slices.ContainsFunc(commands, func(c driver.Command) bool { return match(c.Words) }) {
			return send(commands...)
		}
		if after {
			time.Sleep(delay)
			return send(commands...)
		}
		replies := send(commands...)
		time.Sleep(delay)
		return replies
	}
}

// Goal: replicas that do not confirm a re-entry leave the least time of the outer hold as it is.
func TestAReentryThatIsNotReplicatedKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx := s.Client.WithOwner(context.Background())
		outer := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)))
		_, err := s.Client.Mutex("job").Lock(ctx, redlatch.WithReplicas(1, time.Second))
		check.Is(t, "the re-entry", err, redlatch.ErrNotReplicated)
		check.Is(t, "Unlock", outer.Unlock(ctx), nil)
		check.Within(t, "the TTL", s.TTL("job"), 55*time.Second, 61*time.Second)
	})
}

// Goal: an extension that comes behind the release prolongs nothing. Method: its request arrives late.
func TestAnExtensionBehindAReleaseWithALeastTime(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		h := check.Must(s.Client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Minute), redlatch.WithMinHold(10*time.Second)))
		tap.Set(tardy(true, time.Second, func(words []string) bool { return slices.Contains(words, "3600000") }))
		extended := make(chan error, 1)
		go func() { extended <- h.Extend(context.Background(), time.Hour) }()
		synctest.Wait()
		check.Is(t, "Unlock", h.Unlock(context.Background()), nil)
		check.Within(t, "the TTL", s.TTL("job"), 9*time.Second, 11*time.Second)
		check.Is(t, "Extend", <-extended, redlatch.ErrReleased)
		synctest.Wait()
		check.Within(t, "the TTL after the extension", s.TTL("job"), 8*time.Second, 11*time.Second)
	})
}

// Goal: a re-entry whose reply comes after the release does not end the least time. It begins anew, and waits for that.
func TestALateReentryKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		ctx := s.Client.WithOwner(context.Background())
		outer, began := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute))), time.Now()
		inner := make(chan error, 1)
		tap.Set(tardy(false, 2500*time.Millisecond, func(words []string) bool { return slices.Contains(words, "2") }))
		go func() { _, err := s.Client.Mutex("job").Lock(ctx); inner <- err }()
		synctest.Wait()
		check.Is(t, "Unlock", outer.Unlock(ctx), nil)
		time.Sleep(2 * time.Second)
		if left := s.TTL("job"); left < 50*time.Second {
			t.Errorf("4 s of 60 s after the grant the lock is left for %v", left)
		}
		check.Is(t, "the re-entry", <-inner, nil)
		check.Within(t, "the re-entry", time.Since(began), 58*time.Second, 61*time.Second)
	})
}

// Goal: an extension that is answered after the deadline does not free the lock before its least time.
func TestALateExtensionKeepsTheLeastTime(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		h, began := check.Must(s.Client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Hour), redlatch.WithMinHold(time.Hour))), time.Now()
		time.Sleep(time.Until(h.Deadline()) - time.Second)
		tap.Set(tardy(false, 2*time.Second, func(words []string) bool { return slices.Contains(words, "7200000") }))
		check.Is(t, "Extend", h.Extend(context.Background(), 2*time.Hour), redlatch.ErrLost)
		time.Sleep(time.Second)
		if other, err := s.Stranger().Mutex("job").TryLock(context.Background()); err == nil {
			t.Errorf("a stranger has the lock %v after the grant", time.Since(began))
			_ = other.Unlock(context.Background())
		}
	})
}

// A caller that has gone while the client closes: its lock has no least time.
func TestACallerThatHasGoneWhileItsClientClosesLeavesNoLeastTime(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap := s.Tap()
		h := check.Must(s.Client.Mutex("job").Lock(context.Background()))
		waited := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _, err := s.Client.Mutex("job").Lock(ctx, redlatch.WithMinHold(time.Minute)); waited <- err }()
		time.Sleep(time.Second)
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			r := send(commands...)
			time.Sleep(time.Second)
			return r
		})
		go func() { _ = h.Unlock(context.Background()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		_ = s.Client.Close(context.Background())
		check.Is(t, "the wait", <-waited, context.Canceled)
		if left := s.TTL("job"); left > 0 {
			t.Errorf("the lock of nobody stays for %v", left)
		}
	})
}

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

// What an owner may do that has a turn of a cohort.

// An owner takes the lock again in Redis. The lock is not passed on while it holds anything.
func TestAnOwnerOfACohortReenters(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		for _, inner := range [][]redlatch.LockOption{nil, {passing}, {redlatch.WithFencing()}} {
			ctx := s.Client.WithOwner(s.Limited())
			h := check.Must(m.Lock(ctx, passing))
			again := check.Must(m.Lock(ctx, inner...))
			if h.Owner() != again.Owner() {
				t.Fatalf("%s re-enters as %s", h.Owner(), again.Owner())
			}
			next := make(chan *redlatch.Hold, 1)
			go func() { next <- check.Must(m.Lock(s.Limited(), passing)) }()
			synctest.Wait()
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if err := again.Err(); err != nil || len(next) > 0 {
				t.Fatalf("the inner hold is %v, and %d others hold the lock", err, len(next))
			}
			if err := again.Unlock(ctx); err != nil {
				t.Error(err)
			}
			_ = (<-next).Unlock(ctx)
		}
	})
}

// Goal: an owner whose turn is over holds nothing, although the same hold in Redis serves another.
func TestAnOwnerWhoseTurnIsOverHasToWait(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.Mutex("job"), s.Client.WithOwner(s.Limited())
		h := check.Must(m.Lock(ctx, passing))
		next := make(chan *redlatch.Hold, 1)
		go func() { next <- check.Must(m.Lock(s.Limited(), passing)) }()
		synctest.Wait()
		_ = h.Unlock(ctx)
		other := <-next
		for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
			_, err := m.TryLock(ctx, opts...)
			check.Is(t, "TryLock of the first owner", err, redlatch.ErrNotAcquired)
		}
		_ = other.Unlock(ctx)
	})
}

// A writer of a cohort becomes a reader, and readers of other processes enter.
func TestAWriterOfACohortDowngrades(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour}, func(t *testing.T, s *stage.Stage) {
		m, ctx := s.Client.RWMutex("job"), s.Client.WithOwner(s.Limited())
		w := check.Must(m.Lock(ctx, passing))
		entered := make(chan *redlatch.Hold, 1)
		go func() { entered <- check.Must(s.Stranger().RWMutex("job").RLock(s.Limited())) }()
		synctest.Wait()
		r := check.Must(m.RLock(ctx, passing))
		_, err := m.Lock(s.Client.WithOwner(s.Limited()), redlatch.WithWait(time.Second))
		check.Is(t, "another writer", err, redlatch.ErrNotAcquired)
		if err := w.Unlock(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(entered) != 1 {
			t.Fatal("the reader of another process has not entered")
		}
		_, err = m.Lock(ctx, passing)
		check.Is(t, "an upgrade", err, redlatch.ErrUpgrade)
		_ = r.Unlock(ctx)
		_ = (<-entered).Unlock(ctx)
	})
}

func TestACohortTellsOfADeadlock(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		h := check.Must(m.Lock(s.Limited(), passing))
		for _, opts := range [][]redlatch.LockOption{nil, {passing}} {
			_, err := m.Lock(h.Context(), opts...)
			check.Is(t, "Lock below the hold's context", err, redlatch.ErrReentry)
		}
		_ = h.Unlock(s.Limited())
		if cause := context.Cause(h.Context()); !errors.Is(cause, redlatch.ErrReleased) {
			t.Errorf("the context ended with %v", cause)
		}
	})
}

// A Multi of an owner that has a turn of one of its members releases no more than it has taken.
func TestAMultiReentersATurn(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.Mutex("job")
		outer := check.Must(m.Lock(ctx, passing))
		inner := check.Must(redlatch.NewMulti(m, s.Client.Mutex("other")).Lock(ctx))
		if err := inner.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		if !outer.Valid() {
			t.Error("two minutes after the Multi the hold is", outer.Err())
		}
		wantHeld(s, true)
		if err := outer.Unlock(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Millisecond)
		wantHeld(s, false)
	})
}

// Close waits for a re-entry under way, as for any acquisition.
func TestCloseWaitsForAReentryOfACohort(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net := s.Tap()
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.Mutex("job")
		check.Must(m.Lock(ctx, passing))
		answer := make(chan struct{})
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			<-answer
			return send(commands...)
		})
		go func() { _, _ = m.Lock(ctx, passing) }()
		synctest.Wait()
		net.Set(nil)
		closed := make(chan error, 1)
		go func() { closed <- s.Client.Close(s.Limited()) }()
		synctest.Wait()
		if len(closed) > 0 {
			t.Error("Close did not wait")
		}
		close(answer)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		wantHeld(s, false)
	})
}

// What re-enters has the token of its turn, whichever of its block that is.
func TestAReentryHasTheTokenOfItsTurn(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m, fenced := s.Client.Mutex("job"), redlatch.WithFencing()
		_ = check.Must(m.Lock(s.Limited(), passing, fenced)).Unlock(s.Limited())
		ctx := s.Client.WithOwner(s.Limited())
		h := check.Must(m.Lock(ctx, passing, fenced))
		again := check.Must(m.Lock(ctx, fenced))
		if h.Token() != 2 || again.Token() != 2 {
			t.Errorf("the tokens are %d and %d", h.Token(), again.Token())
		}
		_ = errors.Join(again.Unlock(ctx), h.Unlock(ctx))
	})
}

// Goal: whoever re-enters when the turn is just over waits as anybody does. Method: a request that
// is refused late keeps an Unlock and, behind it, a Lock of the same owner waiting.
func TestAReentryThatComesTooLateWaits(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		net, m := s.Tap(), s.Client.Mutex("job")
		ctx := s.Client.WithOwner(s.Limited())
		h := check.Must(m.Lock(ctx, passing))
		next, again := make(chan *redlatch.Hold, 1), make(chan error, 1)
		go func() { next <- check.Must(m.Lock(s.Limited(), passing)) }()
		synctest.Wait()
		answer := make(chan struct{})
		refuse := stage.Refusing("NOPERM no", func(driver.Command) bool { return true })
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			<-answer
			return refuse(commands, send)
		})
		go func() { _, _ = m.Lock(ctx) }()
		synctest.Wait()
		net.Set(nil)
		go func() { _ = h.Unlock(ctx) }()
		synctest.Wait()
		go func() {
			_, err := m.Lock(ctx, redlatch.WithWait(time.Second))
			again <- err
		}()
		synctest.Wait()
		close(answer)
		other := <-next
		check.Is(t, "Lock of the owner whose turn is over", <-again, redlatch.ErrNotAcquired)
		_ = other.Unlock(s.Limited())
	})
}

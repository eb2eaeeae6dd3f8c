package redlatch_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// shutting starts Shutdown, and waits until the client takes no new acquisition.
func shutting(t *testing.T, c *redlatch.Client, ctx context.Context) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.Shutdown(ctx) }()
	redistest.Eventually(t, 10*time.Second, func() bool {
		h, err := c.Mutex("new").TryLock(ctx)
		if err == nil {
			_ = h.Unlock(ctx)
		}
		return errors.Is(err, redlatch.ErrClosed)
	}, "nothing new is acquired")
	return done
}

// Goal: a hold of any kind is kept, and renewed, until its holder releases it. Then the client is
// closed, and others get the lock at once.
func TestShutdownLetsHoldsEndInPeace(t *testing.T) {
	t.Parallel()
	for kind, l := range prefixed {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				url := "memory://" + redistest.Name(t)
				c, other := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
				h := must(l.of(c, "job").Lock(t.Context(), l.opts...))
				busy := must(l.of(other, "busy").Lock(t.Context(), l.opts...))
				if kind == "read" { // readers do not wait for each other
					is(t, "Unlock", busy.Unlock(t.Context()), nil)
					busy = must(other.RWMutex("busy").Lock(t.Context()))
				}
				waited := make(chan error, 1)
				go func() { _, err := l.of(c, "busy").Lock(t.Context()); waited <- err }()
				synctest.Wait()
				done := shutting(t, c, t.Context())
				is(t, "the wait", <-waited, redlatch.ErrClosed)
				time.Sleep(5 * time.Minute)
				if len(done) > 0 || !h.Valid() {
					t.Fatalf("after ten leases the hold is %v, the shutdown over: %v", h.Err(), len(done) > 0)
				}
				if _, err := other.Mutex("job").TryLock(t.Context()); err == nil {
					t.Error("another client has the lock")
				}
				is(t, "Unlock", h.Unlock(t.Context()), nil)
				if err := <-done; err != nil {
					t.Errorf("Shutdown is %v", err)
				}
				again := must(l.of(other, "job").TryLock(t.Context(), l.opts...))
				is(t, "Unlock", errors.Join(again.Unlock(t.Context()), busy.Unlock(t.Context())), nil)
			})
		})
	}
}

// Goal: what is still held when the time is over is released, and the error says so.
func TestShutdownReleasesWhatIsHeldWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		c, other := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
		h, began := must(c.Mutex("job").Lock(t.Context())), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.Shutdown(ctx)
		is(t, "Shutdown", err, context.DeadlineExceeded)
		if want := "redlatch: shutdown: locks and permits that were still held: 1: context deadline exceeded"; err == nil || err.Error() != want {
			t.Errorf("Shutdown is %v, want %s", err, want)
		}
		within(t, "Shutdown", time.Since(began), time.Minute, time.Minute+time.Second)
		is(t, "Err", h.Err(), redlatch.ErrReleased)
		if err := must(other.Mutex("job").TryLock(t.Context())).Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// However a hold ends, Shutdown need not wait for it any more.
func TestShutdownDoesNotWaitForWhatHasEnded(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(c *redlatch.Client, h *redlatch.Hold){
		"nothing held": func(_ *redlatch.Client, h *redlatch.Hold) { _ = h.Unlock(context.Background()) },
		"detached":     func(_ *redlatch.Client, h *redlatch.Hold) { h.Detach() },
		"forced": func(c *redlatch.Client, h *redlatch.Hold) {
			_ = must(c.Mutex(h.Name()).ForceUnlock(context.Background()))
		},
		"closed":     func(c *redlatch.Client, h *redlatch.Hold) { _ = c.Close(context.Background()) },
		"lease over": func(_ *redlatch.Client, h *redlatch.Hold) { time.Sleep(2 * time.Minute) },
	} {
		for _, early := range []bool{true, false} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					url := "memory://" + redistest.Name(t)
					c, other := open(t, url, redlatch.Config{}), open(t, url, redlatch.Config{})
					h := must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
					if how == "forced" {
						_ = h.Unlock(t.Context())
						h = must(c.Mutex("job").Lock(t.Context()))
					}
					if early {
						end(other, h)
					}
					if early && how == "closed" {
						_ = c.Close(t.Context())
					}
					done := shutting(t, c, t.Context())
					if !early && how == "closed" {
						end(c, h)
					} else if !early {
						end(other, h)
					}
					select {
					case err := <-done:
						is(t, "Shutdown", err, nil)
					case <-time.After(time.Hour):
						t.Error("Shutdown waits for what has ended")
					}
				})
			})
		}
	}
}

// heldBack holds back the reply to the first command.
type heldBack struct {
	driver.Driver
	once       sync.Once
	asked, let chan struct{}
}

func (d *heldBack) Do(ctx context.Context, command driver.Command) driver.Reply {
	reply := d.Driver.Do(ctx, command)
	d.once.Do(func() {
		close(d.asked)
		<-d.let
	})
	return reply
}

// Goal: an acquisition that was under way when Shutdown began may have been granted. Then its hold
// ends in peace as well. Method: the reply is late.
func TestAnAcquisitionUnderWayIsPartOfThePeace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &heldBack{Driver: raw(t, "memory://"+redistest.Name(t)), asked: make(chan struct{}), let: make(chan struct{})}
		c := openOn(t, d)
		granted := make(chan *redlatch.Hold, 1)
		go func() { h, _ := c.Mutex("job").TryLock(context.Background()); granted <- h }()
		<-d.asked
		done := make(chan error, 1)
		go func() { done <- c.Shutdown(t.Context()) }()
		synctest.Wait()
		close(d.let)
		h := <-granted
		time.Sleep(time.Minute)
		if h == nil || !h.Valid() || len(done) > 0 {
			t.Fatalf("the hold is %v; Shutdown is over: %v", h, len(done) > 0)
		}
		is(t, "Unlock", h.Unlock(t.Context()), nil)
		is(t, "Shutdown", <-done, nil)
	})
}

// Goal: Shutdown ends the line of a cohort while a turn is under way.
func TestShutdownEndsTheLineOfACohort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "memory://", redlatch.Config{})
		turn := must(c.Mutex("hot").Lock(t.Context(), redlatch.WithCohort(time.Second)))
		waited := make(chan error, 1)
		go func() { _, err := c.Mutex("hot").Lock(t.Context(), redlatch.WithCohort(time.Second)); waited <- err }()
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- c.Shutdown(t.Context()) }()
		synctest.Wait()
		if len(waited) == 0 {
			t.Error("a goroutine in line still waits")
		}
		is(t, "Unlock", turn.Unlock(t.Context()), nil)
		is(t, "the wait", <-waited, redlatch.ErrClosed)
		is(t, "Shutdown", <-done, nil)
	})
}

// A turn of a cohort that was detached blocks nobody while other holds end in peace.
func TestUnlockAfterDetachDoesNotWaitForAShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, "memory://", redlatch.Config{})
		h := must(c.Mutex("job").Lock(t.Context()))
		turn := must(c.Mutex("hot").Lock(t.Context(), redlatch.WithCohort(time.Second)))
		done := shutting(t, c, t.Context())
		turn.Detach()
		began := time.Now()
		is(t, "Unlock", turn.Unlock(t.Context()), nil)
		within(t, "Unlock", time.Since(began), 0, time.Second)
		is(t, "Unlock", h.Unlock(t.Context()), nil)
		is(t, "Shutdown", <-done, nil)
	})
}

// A Quorum loses no member to a client that is shut down.
func TestShutdownLetsAQuorumEndInPeace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var clients []*redlatch.Client
		var members []redlatch.Lock
		for range 3 {
			c := open(t, "memory://", redlatch.Config{})
			clients, members = append(clients, c), append(members, c.Mutex("job"))
		}
		h := must(redlatch.NewQuorum(members...).Lock(t.Context()))
		done := shutting(t, clients[0], t.Context())
		time.Sleep(5 * time.Minute)
		if len(h.Members()) != 3 || !h.Valid() || len(done) > 0 {
			t.Errorf("after ten leases the hold is %v with %d members", h.Err(), len(h.Members()))
		}
		is(t, "Unlock", h.Unlock(t.Context()), nil)
		is(t, "Shutdown", <-done, nil)
	})
}

// Two parts of a program may shut one client down: both are told that it was not in peace.
func TestEveryShutdownSaysWhatWasStillHeld(t *testing.T) {
	t.Parallel()
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		_ = must(s.client.Mutex("job").Lock(context.Background()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		told := make(chan error, 2)
		for range 2 {
			go func() { told <- s.client.Shutdown(ctx) }()
		}
		for range 2 {
			is(t, "Shutdown", <-told, context.DeadlineExceeded)
		}
	})
}

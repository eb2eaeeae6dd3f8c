package clients_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: what is still held when the time is over is released, and the error says so.
func TestShutdownReleasesWhatIsHeldWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		c, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
		h, began := check.Must(c.Mutex("job").Lock(t.Context())), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.Shutdown(ctx)
		check.Is(t, "Shutdown", err, context.DeadlineExceeded)
		if want := "redlatch: shutdown: locks and permits that were still held: 1: context deadline exceeded"; err == nil || err.Error() != want {
			t.Errorf("Shutdown is %v, want %s", err, want)
		}
		check.Within(t, "Shutdown", time.Since(began), time.Minute, time.Minute+time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
		if err := check.Must(other.Mutex("job").TryLock(t.Context())).Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A context may end with a cause. The error then matches both, as that of Lock does.
func TestTheErrorOfAnEndMatchesTheContextAndItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the machine goes down")
	for what, end := range map[string]func(*redlatch.Client, context.Context) error{"Shutdown": (*redlatch.Client).Shutdown, "Close": (*redlatch.Client).Close} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			check.Must(s.Client.Mutex("job").Lock(t.Context()))
			s.Driver.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				time.Sleep(2 * time.Second) // the release
				return send(commands...)
			})
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
			defer cancel()
			check.Is(t, what, end(s.Client, ctx), cause, context.DeadlineExceeded)
		})
	}
}

// However a hold ends, Shutdown need not wait for it any more.
func TestShutdownDoesNotWaitForWhatHasEnded(t *testing.T) {
	t.Parallel()
	for how, end := range map[string]func(c *redlatch.Client, h *redlatch.Hold){
		"nothing held": func(_ *redlatch.Client, h *redlatch.Hold) { _ = h.Unlock(context.Background()) },
		"detached":     func(_ *redlatch.Client, h *redlatch.Hold) { h.Detach() },
		"forced": func(c *redlatch.Client, h *redlatch.Hold) {
			_ = check.Must(c.Mutex(h.Name()).ForceUnlock(context.Background()))
		},
		"closed":     func(c *redlatch.Client, h *redlatch.Hold) { _ = c.Close(context.Background()) },
		"lease over": func(_ *redlatch.Client, h *redlatch.Hold) { time.Sleep(2 * time.Minute) },
	} {
		for _, early := range []bool{true, false} {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					url := "memory://" + redistest.Name(t)
					c, other := fixture.Open(t, url, redlatch.Config{}), fixture.Open(t, url, redlatch.Config{})
					h := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
					if how == "forced" {
						_ = h.Unlock(t.Context())
						h = check.Must(c.Mutex("job").Lock(t.Context()))
					}
					if early {
						end(other, h)
					}
					if early && how == "closed" {
						_ = c.Close(t.Context())
					}
					done := fixture.Shutting(t, c, t.Context())
					if !early && how == "closed" {
						end(c, h)
					} else if !early {
						end(other, h)
					}
					select {
					case err := <-done:
						check.Is(t, "Shutdown", err, nil)
					case <-time.After(time.Hour):
						t.Error("Shutdown waits for what has ended")
					}
				})
			})
		}
	}
}

// Goal: an acquisition that was under way when Shutdown began may have been granted. Then its hold
// ends in peace as well. Method: the reply is late.
func TestAnAcquisitionUnderWayIsPartOfThePeace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &stage.HeldBack{Driver: fixture.Raw(t, "memory://"+redistest.Name(t)), Asked: make(chan struct{}), Let: make(chan struct{})}
		c := fixture.OpenOn(t, d)
		granted := make(chan *redlatch.Hold, 1)
		go func() { h, _ := c.Mutex("job").TryLock(context.Background()); granted <- h }()
		<-d.Asked
		done := make(chan error, 1)
		go func() { done <- c.Shutdown(t.Context()) }()
		synctest.Wait()
		close(d.Let)
		h := <-granted
		time.Sleep(time.Minute)
		if h == nil || !h.Valid() || len(done) > 0 {
			t.Fatalf("the hold is %v; Shutdown is over: %v", h, len(done) > 0)
		}
		check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
		check.Is(t, "Shutdown", <-done, nil)
	})
}

// A turn of a cohort that was detached blocks nobody while other holds end in peace.
func TestUnlockAfterDetachDoesNotWaitForAShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fixture.Open(t, "memory://", redlatch.Config{})
		h := check.Must(c.Mutex("job").Lock(t.Context()))
		turn := check.Must(c.Mutex("hot").Lock(t.Context(), redlatch.WithCohort(time.Second)))
		done := fixture.Shutting(t, c, t.Context())
		turn.Detach()
		began := time.Now()
		check.Is(t, "Unlock", turn.Unlock(t.Context()), nil)
		check.Within(t, "Unlock", time.Since(began), 0, time.Second)
		check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
		check.Is(t, "Shutdown", <-done, nil)
	})
}

// Two parts of a program may shut one client down: both are told that it was not in peace.
func TestEveryShutdownSaysWhatWasStillHeld(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		_ = check.Must(s.Client.Mutex("job").Lock(context.Background()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		told := make(chan error, 2)
		for range 2 {
			go func() { told <- s.Client.Shutdown(ctx) }()
		}
		for range 2 {
			check.Is(t, "Shutdown", <-told, context.DeadlineExceeded)
		}
	})
}

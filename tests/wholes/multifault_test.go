package wholes_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// awaitEnd waits for the end of a hold, for ten minutes of fake time at most.
func awaitEnd(t *testing.T, h *redlatch.Hold) {
	t.Helper()
	select {
	case <-h.Done():
	case <-time.After(10 * time.Minute):
		t.Fatal("the hold goes on")
	}
}

func TestAMemberThatIsReleasedByItselfEndsTheWhole(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...)).Lock(t.Context()))
		_ = h.Members()[1].Unlock(t.Context())
		select {
		case <-h.Done():
		default:
			t.Error("the whole goes on")
		}
		check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
		if err := h.Unlock(t.Context()); err != nil {
			t.Error("Unlock:", err)
		}
		if s.Memory.Miniredis().Exists("a") || s.Memory.Miniredis().Exists("c") {
			t.Error("members are still locked")
		}
	})
}

func TestAMultiThatLosesAMemberWhileItWaitsBeginsAgain(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		other := s.Other(redlatch.Config{})
		m := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...))
		order := strings.Split(m.Name(), "+")
		rival := check.Must(other.Mutex(order[2]).Lock(t.Context()))
		got := make(chan *redlatch.Hold)
		go func() { got <- check.Must(m.Lock(t.Context())) }()
		time.Sleep(time.Second)
		if !check.Must(other.Mutex(order[0]).ForceUnlock(t.Context())) {
			t.Error("the first member was not held while the last was waited for")
		}
		time.Sleep(15 * time.Second) // it notices with the next renewal
		if got := fixture.Locked(t, other, order[:2]...); len(got) != 2 {
			t.Errorf("only %v are locked again", got)
		}
		_ = rival.Unlock(t.Context())
		h := <-got
		if got := fixture.Locked(t, other, "a", "b", "c"); len(got) != 3 || !h.Valid() {
			t.Errorf("only %v are locked, valid: %v", got, h.Valid())
		}
		_ = h.Unlock(t.Context())
	})
}

// Goal: after an error no member of a Multi is held, not even the one that could not be confirmed. Method: the server refuses to renew
// that member, and takes a second for each release.
func TestAMemberThatIsNotConfirmedIsReleasedWhenLockReturns(t *testing.T) {
	for _, refused := range []string{"a", "b"} {
		stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
			m := check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b")))
			s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
				switch c := commands[0]; {
				case strings.HasPrefix(c.Words[0], "EVAL") && c.Words[2] == "1" && c.Key == refused:
					return stage.FailAll(commands, &driver.ServerError{Message: "NOPERM"})
				case c.Words[0] == "HDEL":
					time.Sleep(time.Second)
				}
				return send(commands...)
			})
			h, err := m.Lock(t.Context(), redlatch.WithMaxHold(time.Minute))
			if err == nil {
				t.Fatal("it is held until ", h.Deadline())
			}
			for _, name := range []string{"a", "b"} {
				if s.Memory.Miniredis().Exists(name) {
					t.Errorf("%s is locked, after %v", name, err)
				}
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestClosingAClientEndsAMultiOfItAndOfWaitingForIt(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	a, b := fixture.Open(t, "memory://"+id+"a", redlatch.Config{}), fixture.Open(t, "memory://"+id+"b", redlatch.Config{})
	watch := fixture.Open(t, "memory://"+id+"b", redlatch.Config{})
	m := check.Must(redlatch.NewMulti(a.Mutex("x"), b.Mutex("y")))
	rival := check.Must(watch.Mutex("y").Lock(ctx))
	failed := make(chan error)
	go func() {
		_, err := m.Lock(ctx)
		failed <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return b.Stats().Waiters == 1 }, "it waits for the second member")
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	check.Is(t, "Lock", <-failed, redlatch.ErrClosed)
	_ = rival.Unlock(ctx)
	if got := fixture.Locked(t, watch, "y"); len(got) > 0 {
		t.Error("the member of the other client is locked")
	}
}

func TestAMultiWhoseMemberIsReleasedByAClosedClientIsNotGranted(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, redlatch.Config{})
		m := check.Must(redlatch.NewMulti(stage.LocksOf(all, "x")...))
		all[1].Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			_ = all[0].Client.Close(ctx)
			return send(commands...)
		})
		_, err := m.TryLock(ctx)
		check.Is(t, "TryLock", err, redlatch.ErrClosed)
	})
}

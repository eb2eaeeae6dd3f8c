package faults_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What arrives late meets another grant of the same owner, and leaves it alone.

// mail is what was sent and has not arrived.
type mail struct {
	mu       sync.Mutex
	commands []driver.Command
}

func (m *mail) add(commands []driver.Command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = append(m.commands, commands...)
}

func (m *mail) sent() []driver.Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.commands)
}

// Goal: nothing that arrives late touches a later hold of the same owner. Method: the
// release of the first hold is held up on its way, and its repetition succeeds. It arrives
// when the owner holds the lock again.
func TestALateReleaseLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	stage.Each(t, stage.HoldKinds, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		ctx, l, net := s.Client.WithOwner(s.Limited()), k.Lock(s.Client, "job"), s.Tap()
		first := check.Must(l.Lock(ctx))
		var late mail
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if len(late.sent()) > 0 {
				return send(commands...)
			}
			late.add(commands)
			return stage.FailAll(commands, stage.ErrCut)
		})
		if err := first.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		net.Set(nil)
		wantUntouched(s, ctx, k, late.sent())
	})
}

// The same for what cancels an attempt whose outcome nobody knows. The attempt was
// carried out. Its repetitions and its release were held up.
func TestALateGiveBackLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	stage.Each(t, stage.HoldKinds, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		ctx, l, net := s.Client.WithOwner(s.Limited()), k.Lock(s.Client, "job"), s.Tap()
		var late mail
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if len(late.sent()) == 0 {
				send(commands...)
			}
			late.add(commands)
			return stage.FailAll(commands, stage.ErrCut)
		})
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := l.Lock(short)
		check.Is(t, "Lock", err, redlatch.ErrUnknownOutcome)
		time.Sleep(5 * time.Second) // it has been given up
		net.Set(nil)
		wantUntouched(s, ctx, k, late.sent())
	})
}

// wantUntouched takes a lock for an owner, and fails if requests that arrive late change
// anything about it.
func wantUntouched(s *stage.Stage, ctx context.Context, k stage.Kind, late []driver.Command) {
	s.Helper()
	h, err := k.Lock(s.Client, "job").Lock(ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, reply := range s.Memory.Pipeline(s.Limited(), late...) {
		if reply.Err != nil {
			s.Fatal("a late request was not carried out:", reply.Err)
		}
	}
	if other, err := k.Rival(s.Stranger(), "job").TryLock(s.Limited()); err == nil {
		s.Errorf("a stranger has the lock, and the hold is valid: %v", h.Valid())
		_ = other.Unlock(s.Limited())
	}
	if err := h.Unlock(ctx); err != nil {
		s.Error("Unlock:", err)
	}
}

// Goal: ReleaseTimeout bounds Unlock, and Detach asks nobody. Method: a re-entry of the owner is
// never answered.
func TestAReentryThatHangsHoldsUpTheEndOfAHoldForABoundedTime(t *testing.T) {
	for what, end := range map[string]struct {
		of   func(h *redlatch.Hold)
		most time.Duration
	}{
		"Unlock": {func(h *redlatch.Hold) { _ = h.Unlock(context.Background()) }, 3*time.Second + 250*time.Millisecond},
		"Detach": {func(h *redlatch.Hold) { h.Detach() }, 0},
	} {
		stage.Story(t, redlatch.Config{CommandTimeout: time.Minute}, func(t *testing.T, s *stage.Stage) {
			net, m := s.Tap(), s.Client.Mutex("job")
			ctx := s.Client.WithOwner(s.Limited())
			h := check.Must(m.Lock(ctx))
			net.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
				time.Sleep(200 * time.Millisecond)
				return stage.FailAll(commands, stage.ErrCut)
			})
			defer net.Set(nil)
			go func() { _, _ = m.Lock(ctx) }()
			synctest.Wait()
			began := time.Now()
			end.of(h)
			check.Within(t, what, time.Since(began), 0, end.most)
		})
	}
}

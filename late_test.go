package redlatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
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
	eachWay(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		ctx, l, net := s.client.WithOwner(s.limited()), k.lock(s.client, "job"), s.tap()
		first := must(l.Lock(ctx))
		var late mail
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			if len(late.sent()) > 0 {
				return send(commands...)
			}
			late.add(commands)
			return failAll(commands, errCut)
		})
		if err := first.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		net.set(nil)
		s.wantUntouched(ctx, k, late.sent())
	})
}

// The same for what cancels an attempt whose outcome nobody knows. The attempt was
// carried out. Its repetitions and its release were held up.
func TestALateGiveBackLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	eachWay(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		ctx, l, net := s.client.WithOwner(s.limited()), k.lock(s.client, "job"), s.tap()
		var late mail
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			if len(late.sent()) == 0 {
				send(commands...)
			}
			late.add(commands)
			return failAll(commands, errCut)
		})
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := l.Lock(short)
		is(t, "Lock", err, redlatch.ErrUnknownOutcome)
		time.Sleep(5 * time.Second) // it has been given up
		net.set(nil)
		s.wantUntouched(ctx, k, late.sent())
	})
}

// wantUntouched takes a lock for an owner, and fails if requests that arrive late change
// anything about it.
func (s *stage) wantUntouched(ctx context.Context, k lockKind, late []driver.Command) {
	s.Helper()
	h, err := k.lock(s.client, "job").Lock(ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, reply := range s.memory.Pipeline(s.limited(), late...) {
		if reply.Err != nil {
			s.Fatal("a late request was not carried out:", reply.Err)
		}
	}
	if other, err := k.rival(s.stranger(), "job").TryLock(s.limited()); err == nil {
		s.Errorf("a stranger has the lock, and the hold is valid: %v", h.Valid())
		_ = other.Unlock(s.limited())
	}
	if err := h.Unlock(ctx); err != nil {
		s.Error("Unlock:", err)
	}
}

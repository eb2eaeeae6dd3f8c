package redlatch_test

import (
	"slices"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// Goal: nothing that arrives late touches a later hold of the same owner. Method: the
// release of the first hold is held up on its way, and its repetition succeeds. It arrives
// when the owner holds the lock again.
func TestALateReleaseLeavesTheSameOwnersNextHoldAlone(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		ctx, l, net := s.client.WithOwner(t.Context()), k.lock(s.client, "job"), s.tap()
		first := must(l.Lock(ctx))
		var late []driver.Command
		net.set(func(commands []driver.Command, send func() []driver.Reply) []driver.Reply {
			if late == nil {
				late = slices.Clone(commands)
				return failAll(commands, errCut)
			}
			return send()
		})
		if err := first.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		net.set(nil)
		second := must(l.Lock(ctx))
		for _, reply := range s.memory.Pipeline(t.Context(), late...) {
			if reply.Err != nil {
				t.Fatal("the late release was not carried out:", reply.Err)
			}
		}
		if h, err := k.rival(s.stranger(), "job").TryLock(t.Context()); err == nil {
			t.Errorf("a stranger has the lock, and the second hold is valid: %v", second.Valid())
			_ = h.Unlock(t.Context())
		}
		if err := second.Unlock(ctx); err != nil {
			t.Error("Unlock of the second hold:", err)
		}
	})
}

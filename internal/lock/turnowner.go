package lock

import (
	"context"
	"slices"
)

// A turn of an owner that other acquisitions share (owner).

// adopt makes the base the owner's grant, so that its further acquisitions re-enter. It reports
// false if the turn has ended.
func (t *turn) adopt() bool {
	g := t.base.hold.grant()
	g.mu.Lock()
	g.token = t.token
	g.mu.Unlock()
	t.shared.adopt(g)
	if t.Err() == nil {
		return true
	}
	t.shared.forget(g)
	return false
}

// resign takes the base from the owner again, in the owner's request slot. It reports false if the owner has
// re-entered: nobody else may have the lock then. It also reports false if a request of the owner
// hangs, or is not to be waited for. What follows is bounded by limited.
func (t *turn) resign(ctx context.Context, wait bool) (resigned bool, limited context.Context, leave func()) {
	g := t.base.hold.grant()
	limited, leave = ctx, func() {}
	if wait {
		limited, leave, resigned = g.takeSlotToRelease(ctx)
	}
	if g.reentered(t.shared) {
		return false, limited, leave
	}
	t.shared.forget(g)
	return resigned, limited, leave
}

// reentered says that an owner has holds of its own beside the base.
func (g *Grant) reentered(shared *owner) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.holds, func(h *Hold) bool { return h != &g.first && g.manager.ownerOf(h.parent) == shared })
}

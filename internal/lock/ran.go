package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// RefOf is what a single lock of package redlatch refers to, or nil. That package sets it, for those above it that
// need more of a lock than its users.
var RefOf func(lock any) *Ref

// Ref is what the hold of a single lock holds, nil for any other hold.
func (h *Hold) Ref() *Ref {
	if g, single := h.backend.(*Grant); single {
		return g.ref
	}
	return nil
}

// ForgoMinHold has the release of the hold free the lock at once.
func (h *Hold) ForgoMinHold() {
	if g, single := h.backend.(*Grant); single { // no other backend has a minimum time
		g.mu.Lock()
		defer g.mu.Unlock()
		g.minHoldEnd = time.Time{}
	}
}

// Ran reports whether the job of this lock was run for a time. With the token of a hold it notes that it is run now.
func (r *Ref) Ran(ctx context.Context, due time.Time, token int64) (bool, error) {
	return r.askWhether(ctx, "look for a run of", script.Ran(r.Lock, due, token), script.ReadRan)
}

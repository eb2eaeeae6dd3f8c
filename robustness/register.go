package robustness

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch/fence"
)

// register is what a lock protects, twice: with a guard and without one.
type register struct {
	clock clock

	mu            sync.Mutex
	guard         fence.Memory
	open, guarded column
	refused       int // writes, by the guard
}

// column is one copy of what is protected: who writes there now, and how often somebody
// wrote whose time was over.
type column struct {
	newest *visit
	stale  int
}

// visit is one holder's time at a register.
type visit struct {
	register *register
	hold     interface{ Valid() bool }
	span     *span
	// begun says for each column that this holder has written there.
	begunOpen, begunGuarded bool
}

// write writes once, provided that the hold is valid, and reports whether it was.
//
// The question and the write are one step: whoever is asked second writes second.
func (v *visit) write() bool {
	r := v.register
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.now()
	if !v.hold.Valid() {
		return false
	}
	v.span.sure = now
	r.open.take(v, &v.begunOpen)
	if v.span.token == 0 {
		return true
	}
	if r.guard.Pass(context.Background(), v.span.token, v.span.lock) != nil {
		r.refused++
		return true
	}
	r.guarded.take(v, &v.begunGuarded)
	return true
}

// take takes a write. It is stale if somebody has begun after the writer had.
func (c *column) take(v *visit, begun *bool) {
	switch {
	case !*begun:
		*begun, c.newest = true, v
	case c.newest != v:
		c.stale++
	}
}

// counts are the stale writes of both columns, and the writes that were refused.
func (r *register) counts() (open, guarded, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open.stale, r.guarded.stale, r.refused
}

package robustness

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch/fence"
)

// register is the data that a lock protects, once with a guard and once without.
type register struct {
	clock clock

	mu            sync.Mutex
	guard         fence.Memory
	open, guarded column
	refused       int // writes, by the guard
}

// column is one copy of the data.
type column struct {
	newest *writer // the last one that began
	stale  int     // writes of others after that
}

// writer is one hold that writes into a register.
type writer struct {
	register *register
	hold     interface{ Valid() bool }
	span     *span
	// Whether this holder has written into each column.
	begunOpen, begunGuarded bool
}

// write writes once if the hold is valid, and reports whether it was. Check and write are one
// step: the hold that is checked second writes second.
func (v *writer) write() bool {
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

// take takes a write. It is stale if another writer has begun after this one.
func (c *column) take(v *writer, begun *bool) {
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

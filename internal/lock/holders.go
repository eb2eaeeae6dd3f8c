package lock

import "sync"

// holders are the grants that hold a lock in this process, for all locks. Redis says who gets a lock. But what
// a client holds it never grants to itself, whatever a server says: after a failover that lost the lock, another
// owner of the process would get it as well. So a lock has one writer here, or readers.
type holders struct {
	mu     sync.Mutex
	latest map[lockID]*Grant // the others follow by Grant.earlier
}

// enter has a grant hold its lock, and reports false if another one excludes that.
func (h *holders) enter(g *Grant, read bool) bool {
	id := g.ref.key.lock
	if id.permits { // which have several holders
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.excluding(g, read) != nil {
		return false
	}
	g.writes = g.writes || !read
	if g.entered {
		return true
	}
	if h.latest == nil {
		h.latest = make(map[lockID]*Grant)
	}
	if g.earlier = h.latest[id]; g.earlier != nil {
		g.earlier.later = g
	}
	h.latest[id], g.entered = g, true
	return true
}

// excluding is another grant that keeps this one from holding its lock, or nil. A writer is alone, so only the
// latest one can be a writer. The mutex is held.
func (h *holders) excluding(g *Grant, read bool) *Grant {
	other := h.latest[g.ref.key.lock]
	if other == g {
		other = g.earlier
	}
	if other == nil || read && !other.writes {
		return nil
	}
	return other
}

// rival is excluding, after the end of those whose time is over.
func (h *holders) rival(g *Grant, read bool) *Grant {
	for {
		h.mu.Lock()
		other := h.excluding(g, read)
		h.mu.Unlock()
		if other == nil || !other.Expire() { // not under the mutex: a grant that ends leaves
			return other
		}
	}
}

// reads takes note that a grant only reads from now on.
func (h *holders) reads(g *Grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.writes = false
}

// leave takes out a grant that ends.
func (h *holders) leave(g *Grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !g.entered {
		return
	}
	g.entered = false
	if g.earlier != nil {
		g.earlier.later = g.later
	}
	switch id := g.ref.key.lock; {
	case g.later != nil:
		g.later.earlier = g.earlier
	case g.earlier != nil:
		h.latest[id] = g.earlier
	default:
		delete(h.latest, id)
	}
	g.earlier, g.later = nil, nil
}

// has says that a lock is held in this process.
func (h *holders) has(r *Ref) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest[r.key.lock] != nil
}

// look has the holders of a lock look whether Redis still has it: so many readers at most. The others learn of a loss
// by their renewals.
func (h *holders) look(id lockID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest[id].lookDown(100)
}

// lookAll has the holders of all locks look that are announced on a channel.
func (h *holders) lookAll(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.latest {
		if g.ref.mutex.Channel == channel {
			g.lookDown(100)
		}
	}
}

// lookDown has a grant look, and those that hold the lock besides, so many at most.
func (g *Grant) lookDown(most int) {
	for ; g != nil && most > 0; g, most = g.earlier, most-1 {
		g.look()
	}
}

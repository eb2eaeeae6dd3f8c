package redlatch

import "sync"

// gate counts the operations of a client, so that closing it can wait for them.
type gate struct {
	mu      sync.Mutex
	inside  int
	closing bool          // no new acquisitions
	drained bool          // no new operations at all
	empty   chan struct{} // closed when drained
}

// enter admits an operation, unless the client is closing.
func (g *gate) enter() bool { return g.admit(&g.closing) }

// enterToRelease admits a release, also while the client waits for what is under
// way.
func (g *gate) enterToRelease() bool { return g.admit(&g.drained) }

func (g *gate) admit(shut *bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *shut {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.drain()
}

// close lets no acquisition in any more, and returns a channel that is closed when
// the last operation has left.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closing = true
	g.empty = make(chan struct{})
	g.drain()
	return g.empty
}

func (g *gate) drain() {
	if g.closing && g.inside == 0 && !g.drained {
		g.drained = true
		close(g.empty)
	}
}

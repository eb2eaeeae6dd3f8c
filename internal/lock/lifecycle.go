package lock

import (
	"context"
	"sync"
)

// lifecycle counts the operations of a manager, so that closing it can wait for them.
type lifecycle struct {
	ctx        context.Context // ends when the manager begins to close
	cancel     context.CancelFunc
	background background    // work for which no caller waits
	closed     chan struct{} // closed when everything has ended

	mu      sync.Mutex
	inside  int
	closing bool          // no new acquisitions
	drained bool          // no new operations at all
	empty   chan struct{} // closed when drained
}

func (l *lifecycle) start() {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.closed = make(chan struct{})
}

// enter admits an operation, unless the manager is closing.
func (l *lifecycle) enter() bool { return l.admit(&l.closing) }

// enterRelease admits a release, also while closing waits for what is under way.
func (l *lifecycle) enterRelease() bool { return l.admit(&l.drained) }

func (l *lifecycle) admit(shut *bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *shut {
		return false
	}
	l.inside++
	return true
}

func (l *lifecycle) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	l.drain()
}

// close admits no acquisition any more, and returns a channel that is closed when the last
// operation has left.
func (l *lifecycle) close() <-chan struct{} {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.empty = make(chan struct{})
	l.drain()
	return l.empty
}

func (l *lifecycle) drain() {
	if l.closing && l.inside == 0 && !l.drained {
		l.drained = true
		close(l.empty)
	}
}

package lock

import (
	"context"
	"sync"
	"sync/atomic"
)

// lifecycle counts the operations of a manager, so that closing it can wait for them. Every
// acquisition and release passes here, so it has no mutex that they would have to queue for.
//
//	open ── stop ──▶ stopped: holds go on ── close ──▶ closing ── last operation left ──▶ drained
//	  └──────────────────────── close ────────────────────▲
type lifecycle struct {
	ctx        context.Context // ends when the manager stops
	cancel     context.CancelFunc
	background background    // work for which no caller waits
	closed     chan struct{} // closed when everything has ended
	held       func() int    // how many grants are held

	state atomic.Int64  // the operations inside, and the flags below
	quiet chan struct{} // closed when stopped, nothing is held and no operation under way
	once  sync.Once     // closes it
	empty chan struct{} // closed when drained
}

const (
	stopped int64 = 1 << 62 // no new acquisitions
	closing int64 = 1 << 61 // the manager has begun to close
	drained int64 = 1 << 60 // no new operations at all
)

func (l *lifecycle) start() {
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.background.idle = sync.NewCond(&l.background.mu)
	l.closed, l.quiet, l.empty = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

// enter admits an operation, unless the manager has stopped.
func (l *lifecycle) enter() bool { return l.admit(stopped) }

// enterRelease admits a release, also while closing waits for what is under way.
func (l *lifecycle) enterRelease() bool { return l.admit(drained) }

// enterEnd admits the end of a hold. If nothing is admitted any more, it waits for Close, which ends
// every hold.
func (l *lifecycle) enterEnd() {
	if !l.enterRelease() {
		<-l.closed
		l.state.Add(1)
	}
}

func (l *lifecycle) admit(shut int64) bool {
	if l.state.Add(1)&shut == 0 {
		return true
	}
	l.leave()
	return false
}

func (l *lifecycle) leave() {
	if l.state.Add(-1)&stopped != 0 {
		l.settle()
		l.drain()
	}
}

// stop admits no acquisition any more.
func (l *lifecycle) stop() {
	l.cancel()
	l.state.Or(stopped) // before the first look at what is held: who ends a grant later looks as well
	l.settle()
}

// ended takes note that a grant is not held any more.
func (l *lifecycle) ended() {
	if l.state.Load()&stopped != 0 {
		l.settle()
	}
}

// settle closes quiet if nothing is under way and nothing is held. Without an acquisition under way,
// nothing more will be held. Who is inside looks again on leaving.
func (l *lifecycle) settle() {
	if l.state.Load()&^(stopped|closing|drained) == 0 && l.held() == 0 {
		l.once.Do(func() { close(l.quiet) })
	}
}

// close admits no acquisition any more, and returns a channel that is closed when the last
// operation has left.
func (l *lifecycle) close() <-chan struct{} {
	l.stop()
	l.state.Or(closing)
	l.drain()
	return l.empty
}

// isClosing says that the manager has begun to close.
func (l *lifecycle) isClosing() bool { return l.state.Load()&closing != 0 }

// drain admits nothing any more if nothing is inside. Whoever enters at that moment is inside, or is
// refused.
func (l *lifecycle) drain() {
	if l.state.CompareAndSwap(stopped|closing, stopped|closing|drained) {
		close(l.empty)
	}
}

// Package life counts what a client does, so that closing it can wait for that: operations, work for which no
// caller waits, and reports to the logger and the observer.
//
// No other mutex is taken while one of this package is held.
package life

import (
	"context"
	"sync"
	"sync/atomic"
)

// Life counts the operations of a client, so that closing it can wait for them. Every
// acquisition and release passes here, so it has no mutex that they would have to queue for.
//
//	open ── stop ──▶ stopped: holds go on ── close ──▶ closing ── last operation left ──▶ drained
//	  └──────────────────────── close ────────────────────▲
type Life struct {
	Background                 // work for which no caller waits
	Context    context.Context // ends when the client stops
	Closed     chan struct{}   // to be closed when everything has ended
	Quiet      chan struct{}   // closed when stopped, nothing is held and no operation under way

	cancel context.CancelFunc
	held   func() int

	state atomic.Int64  // the operations inside, and the flags below
	once  sync.Once     // closes it
	empty chan struct{} // closed when drained
}

const (
	stopped int64 = 1 << 62 // no new acquisitions
	closing int64 = 1 << 61 // the client has begun to close
	drained int64 = 1 << 60 // no new operations at all
)

// Start begins it. Held says how many grants and permits the client has.
func (l *Life) Start(held func() int) {
	l.Context, l.cancel = context.WithCancel(context.Background())
	l.idle = sync.NewCond(&l.mu)
	l.Closed, l.Quiet, l.empty = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.held = held
}

// Enter admits an operation, unless the client has stopped.
func (l *Life) Enter() bool { return l.admit(stopped) }

// EnterRelease admits a release, also while closing waits for what is under way.
func (l *Life) EnterRelease() bool { return l.admit(drained) }

// EnterEnd admits the end of a hold. If nothing is admitted any more, it waits for Close, which ends
// every hold.
func (l *Life) EnterEnd() {
	if !l.EnterRelease() {
		<-l.Closed
		l.state.Add(1)
	}
}

func (l *Life) admit(shut int64) bool {
	if l.state.Add(1)&shut == 0 {
		return true
	}
	l.Leave()
	return false
}

func (l *Life) Leave() {
	if l.state.Add(-1)&stopped != 0 {
		l.settle()
		l.drain()
	}
}

// Stop admits no acquisition any more.
func (l *Life) Stop() {
	l.cancel()
	l.state.Or(stopped) // before the first look at what is held: who ends a grant later looks as well
	l.settle()
}

// Ended takes note that a grant is not held any more.
func (l *Life) Ended() {
	if l.state.Load()&stopped != 0 {
		l.settle()
	}
}

// settle closes quiet if nothing is under way and nothing is held. Without an acquisition under way,
// nothing more will be held. Who is inside looks again on leaving.
func (l *Life) settle() {
	if l.state.Load()&^(stopped|closing|drained) == 0 && l.held() == 0 {
		l.once.Do(func() { close(l.Quiet) })
	}
}

// Close admits no acquisition any more, and returns a channel that is closed when the last
// operation has left.
func (l *Life) Close() <-chan struct{} {
	l.Stop()
	l.state.Or(closing)
	l.drain()
	return l.empty
}

// Closing says that the client has begun to close.
func (l *Life) Closing() bool { return l.state.Load()&closing != 0 }

// drain admits nothing any more if nothing is inside. Whoever enters at that moment is inside, or is
// refused.
func (l *Life) drain() {
	if l.state.CompareAndSwap(stopped|closing, stopped|closing|drained) {
		close(l.empty)
	}
}

package lock

import "sync"

// background counts work for which no caller waits, so that closing a manager can wait for it.
// Unlike a sync.WaitGroup, it allows work to begin at any time: a group of several locks may end
// while a manager closes. Work that begins when the wait is over is not waited for.
type background struct {
	mu      sync.Mutex
	working int
	idle    chan struct{} // closed when no work is left; nil while nobody waits
}

// Go runs work.
func (b *background) Go(work func()) {
	b.mu.Lock()
	b.working++
	b.mu.Unlock()
	go func() {
		defer b.done()
		work()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working--; b.working == 0 && b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
}

// wait waits until no work is left. It is called once.
func (b *background) wait() {
	b.mu.Lock()
	if b.working == 0 {
		b.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	b.idle = idle
	b.mu.Unlock()
	<-idle
}

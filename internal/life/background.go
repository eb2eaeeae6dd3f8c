package life

import "sync"

// Background counts work for which no caller waits, so that closing a client can wait for it.
// Unlike a sync.WaitGroup, it allows work to begin at any time: a group of several locks may end
// while a client closes. Work that begins when the wait is over is not waited for.
type Background struct {
	mu      sync.Mutex
	working int
	idle    *sync.Cond // signalled when no work is left
}

// Go runs work.
func (b *Background) Go(work func()) {
	b.add(1)
	go func() {
		defer b.add(-1)
		work()
	}()
}

func (b *Background) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working += n; b.working == 0 {
		b.idle.Broadcast()
	}
}

// Wait waits until no work is left.
func (b *Background) Wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working > 0 {
		b.idle.Wait() // which never wakes by itself
	}
}

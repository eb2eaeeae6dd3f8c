package lock

import "sync"

// background counts work for which no caller waits, so that closing a manager can wait for it.
// Unlike a sync.WaitGroup, it allows work to begin at any time: a group of several locks may end
// while a manager closes. Work that begins when the wait is over is not waited for.
type background struct {
	mu      sync.Mutex
	working int
	idle    *sync.Cond // signalled when no work is left
}

// Go runs work.
func (b *background) Go(work func()) {
	b.add(1)
	go func() {
		defer b.add(-1)
		work()
	}()
}

func (b *background) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working += n; b.working == 0 {
		b.idle.Broadcast()
	}
}

// wait waits until no work is left.
func (b *background) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.working > 0 {
		b.idle.Wait() // which never wakes by itself
	}
}

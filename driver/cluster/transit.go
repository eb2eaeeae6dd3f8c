package cluster

import (
	"sync"
	"sync/atomic"
	"time"
)

// transitMemory is for how long a slot counts as being on its way after that was seen.
const transitMemory = time.Second

// transit remembers the slots that are on their way from one server to another.
type transit struct {
	some  atomic.Bool // spares everybody the mutex while there are none
	mu    sync.Mutex
	until map[int]time.Time
}

func (t *transit) add(slot int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.until == nil {
		t.until = make(map[int]time.Time)
	}
	t.until[slot] = time.Now().Add(transitMemory)
	t.some.Store(true)
}

func (t *transit) has(slot int) bool {
	if !t.some.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	until, found := t.until[slot]
	if found && time.Now().After(until) {
		delete(t.until, slot)
		t.some.Store(len(t.until) > 0)
		found = false
	}
	return found
}

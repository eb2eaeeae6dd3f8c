//go:build !race

package lock

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// TestAWaiterTakesLittleMemory is not parallel: it measures the whole process. One waiter stands in the queue before
// the others come, so that none of them asks Redis: a request needs a stack of 8192, and that stays.
func TestAWaiterTakesLittleMemory(t *testing.T) {
	const waiters, most = 1000, 6200 // bytes; a stack of 4096 is among them
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m, other := manager(), manager()
		mine, its := m.Mutex("job"), other.Mutex("job")
		held, err := its.Acquire(t.Context(), other.Plain(Forever))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		wait := func() { _, _ = mine.Acquire(ctx, m.Plain(Forever)) }
		waiting.Go(wait)
		synctest.Wait()
		before := memoryInUse()
		for range waiters {
			waiting.Go(wait)
		}
		synctest.Wait()
		each := (memoryInUse() - before) / waiters
		if n := m.queues.Waiting(); n != 1+waiters || each > most {
			t.Errorf("%d wait, a waiter takes %d bytes, want %d at most", n, each, most)
		}
		cancel()
		waiting.Wait()
		if err := held.Unlock(context.Background()); err != nil {
			t.Error(err)
		}
		_ = m.Close(context.Background())
		_ = other.Close(context.Background())
	})
}

// memoryInUse is the bytes of the heap and of the stacks. A collection halves a stack at the most.
func memoryInUse() int {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc + stats.StackInuse)
}

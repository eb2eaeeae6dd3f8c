//go:build !race

package lock

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestAWaiterTakesLittleMemory is not parallel: it measures the whole process.
func TestAWaiterTakesLittleMemory(t *testing.T) {
	const waiters, most = 1000, 6200 // bytes; a stack of 4096 is among them
	d, manager := inProcess(t)
	defer d.Close()
	m, other := manager(), manager()
	mine, its := m.Mutex("job"), other.Mutex("job")
	held, err := its.Acquire(context.Background(), other.Plain(Forever))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	before := memoryInUse()
	for range waiters {
		waiting.Go(func() { _, _ = mine.Acquire(ctx, m.Plain(Forever)) })
	}
	for deadline := time.Now().Add(20 * time.Second); m.queues.Waiting() < waiters; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d wait", m.queues.Waiting(), waiters)
		}
	}
	if each := (memoryInUse() - before) / waiters; each > most {
		t.Errorf("a waiter takes %d bytes, want %d at most", each, most)
		t.Log(each)
	}
	cancel()
	waiting.Wait()
	if err := held.Unlock(context.Background()); err != nil {
		t.Error(err)
	}
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

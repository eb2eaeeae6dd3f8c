package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// The sixth table: the memory of the process that locks.

// footprint is the bytes of one hold and of one waiter: heap and stacks.
type footprint struct {
	Hold, Waiter float64
}

// memory measures a process with nothing else in it. What it takes is locks of their own names,
// then it waits for locks that another client holds.
func (o order) memory(ctx context.Context, c contestant, ready func() (time.Time, error)) (report, error) {
	if _, err := ready(); err != nil {
		return report{}, err
	}
	if err := warmUp(ctx, c); err != nil {
		return report{}, err
	}
	var f footprint
	before := inUse()
	holds, err := o.takeAll(ctx, c)
	if err != nil {
		return report{}, err
	}
	f.Hold = (inUse() - before) / float64(o.Workers)
	for _, w := range holds {
		if err := w.Unlock(ctx); err != nil {
			return report{}, err
		}
	}
	f.Waiter, err = o.waiterBytes(ctx, c)
	runtime.KeepAlive(holds)
	return report{Memory: &f}, err
}

func warmUp(ctx context.Context, c contestant) error {
	w := c.Worker("memory:first")
	if err := w.Lock(ctx); err != nil {
		return err
	}
	return w.Unlock(ctx)
}

// takeAll locks as many names as there are workers, a few at a time.
func (o order) takeAll(ctx context.Context, c contestant) ([]worker, error) {
	workers := make([]worker, o.Workers)
	const atATime = 16
	errs := make([]error, atATime)
	var taking sync.WaitGroup
	for first := range atATime {
		taking.Go(func() {
			for i := first; i < o.Workers && errs[first] == nil; i += atATime {
				workers[i] = c.Worker(fmt.Sprintf("%s:own:%d", o.Name, i))
				errs[first] = workers[i].Lock(ctx)
			}
		})
	}
	taking.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("lock: %w", err)
		}
	}
	return workers, nil
}

// waiterBytes lets the workers wait for locks that another client has.
func (o order) waiterBytes(ctx context.Context, c contestant) (float64, error) {
	e, err := findEntrant(o.Entrant)
	if err != nil {
		return 0, err
	}
	other, err := e.open(ctx, o.Address, new(wire))
	if err != nil {
		return 0, err
	}
	defer other.Close()
	for i := range o.Locks {
		if err := other.Worker(o.lock(i)).Lock(ctx); err != nil {
			return 0, fmt.Errorf("lock: %w", err)
		}
	}
	before := inUse()
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for i := range o.Workers {
		w := c.Worker(o.lock(i % o.Locks))
		waiting.Go(func() { _ = w.Lock(ctx) })
	}
	return (settled(ctx) - before) / float64(o.Workers), nil
}

// settled polls until the memory in use has changed little for half a second.
func settled(ctx context.Context) float64 {
	const patient = 20 * time.Second
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	now, calm := inUse(), 0
	for deadline := time.Now().Add(patient); calm < 5 && time.Now().Before(deadline) && ctx.Err() == nil; <-tick.C {
		last := now
		if now = inUse(); max(now, last) < 1.01*min(now, last) {
			calm++
		} else {
			calm = 0
		}
	}
	return now
}

// inUse is the bytes of heap that are reachable, and those of the stacks.
func inUse() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc + stats.StackInuse)
}

const memoryLocks = 100 // that the waiters wait for

func measureMemory(ctx context.Context, b *bench) (map[string]footprint, error) {
	rows := map[string]footprint{}
	for _, e := range b.idlers() {
		c, err := b.fresh(ctx, e, 1)
		if err != nil {
			return nil, err
		}
		_, reports, err := c.perform(ctx, []order{{
			Task: taskMemory, Address: b.server.address, Entrant: e.name, Name: "memory:" + e.name,
			Workers: b.plan.memory, Locks: memoryLocks,
		}})
		c.end()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		rows[e.name] = *reports[0].Memory
	}
	return rows, nil
}

func (p page) memory(rows map[string]footprint, n int) {
	p.line("### Memory of the process\n")
	p.line("%d holds, then %d waiters for %d locks that another client has.\n", n, n, memoryLocks)
	var lines [][]string
	for _, e := range racers() {
		if r, found := rows[e.name]; found {
			lines = append(lines, []string{e.name, fmt.Sprintf("%.0f", r.Hold), fmt.Sprintf("%.0f", r.Waiter)})
		}
	}
	p.table([]string{"", "bytes a hold", "bytes a waiter"}, lines)
}

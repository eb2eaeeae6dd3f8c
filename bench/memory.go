package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// What one hold and one waiter cost if there are many, in a process with nothing else in it.

const (
	figureHold          = "bytes a hold"
	figureHoldHeap      = "heap of a hold, bytes"
	figureHoldStack     = "stack of a hold, bytes"
	figureHoldCommands  = "commands a hold"
	figureLosses        = "losses"
	figureReleased      = "all released after, s"
	figureWaiter        = "bytes a waiter"
	figureWaiterHeap    = "heap of a waiter, bytes"
	figureWaiterStack   = "stack of a waiter, bytes"
	figureWaiterTraffic = "commands a waiter"
	figureTraffic       = "commands/s while all wait"
	figureAllServed     = "all done after, s"
	figureGrants        = "grants/s"
	figureGrantCPU      = "server CPU a grant, µs"
	figureGrantScripts  = "scripts a grant"
)

// memory measures holds and then waiters.
func (o order) memory(ctx context.Context, c client, ready ready) (figures, error) {
	if _, err := ready(); err != nil {
		return nil, err
	}
	servers, err := newMeter(o.Address)
	if err != nil {
		return nil, err
	}
	defer servers.close()
	f := figures{}
	if o.Holds > 0 {
		if err := o.measureHolds(ctx, c, servers, f); err != nil {
			return nil, err
		}
	}
	return f, o.measureWaiters(ctx, c, servers, f)
}

// measureHolds takes locks of their own names, keeps them and releases them. What the user keeps
// between two locks is not counted.
func (o order) measureHolds(ctx context.Context, c client, servers meter, f figures) error {
	workers, err := makeWorkers(c, o.Holds+1, func(i int) string { return fmt.Sprintf("%s:own:%d", o.Name, i) })
	if err != nil {
		return err
	}
	first, workers := workers[o.Holds], workers[:o.Holds]
	if err := first.once(ctx); err != nil { // makes connections
		return err
	}
	before := used()
	if err := inParallel(o.Holds, func(i int) error { return workers[i].lock(ctx) }); err != nil {
		return err
	}
	if err := until(ctx, time.Now().Add(o.WarmUp)); err != nil {
		return err
	}
	heap, stack := used().each(before, o.Holds)
	f[figureHold], f[figureHoldHeap], f[figureHoldStack] = heap+stack, heap, stack
	work, err := o.watch(ctx, servers)
	if err != nil {
		return err
	}
	f[figureHoldCommands] = work / float64(o.Holds)
	began := time.Now()
	lost := make([]error, o.Holds)
	_ = inParallel(o.Holds, func(i int) error {
		lost[i] = workers[i].unlock(ctx)
		return nil
	})
	f[figureReleased], f[figureLosses] = time.Since(began).Seconds(), 0
	for _, err := range lost {
		if err != nil {
			f[figureLosses]++
		}
	}
	return nil
}

// watch counts the servers' commands for the order's time.
func (o order) watch(ctx context.Context, servers meter) (float64, error) {
	before, err := servers.work(ctx)
	if err != nil {
		return 0, err
	}
	if err := until(ctx, time.Now().Add(o.For)); err != nil {
		return 0, err
	}
	after, err := servers.work(ctx)
	work := after.minus(before)
	return work[countScripts] + work[countOthers], err
}

// measureWaiters has workers wait for locks that another client holds, until that releases them or
// they give up.
func (o order) measureWaiters(ctx context.Context, c client, servers meter, f figures) error {
	other, err := openByName(ctx, o.Contestant, o.Address, new(wire))
	if err != nil {
		return err
	}
	defer other.close()
	held, err := o.workers(other, o.Held)
	if err != nil {
		return err
	}
	if err := inParallel(o.Held, func(i int) error { return held[i].lock(ctx) }); err != nil {
		return err
	}
	workers, err := o.workers(c, o.Workers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	before := used()
	wait := newWaiting(ctx, workers)
	defer wait.done.Wait()
	defer cancel()
	if err := wait.begin(c, o.Locks); err != nil {
		return err
	}
	if err := until(ctx, time.Now().Add(o.WarmUp)); err != nil {
		return err
	}
	heap, stack := settled(ctx).each(before, o.Workers)
	f[figureWaiter], f[figureWaiterHeap], f[figureWaiterStack] = heap+stack, heap, stack
	runtime.KeepAlive(held)
	if !o.Serve {
		return nil
	}
	commands, err := o.watch(ctx, servers)
	if err != nil {
		return err
	}
	f[figureWaiterTraffic], f[figureTraffic] = commands/float64(o.Workers), commands/o.For.Seconds()
	return o.serve(ctx, held, wait, servers, f)
}

// serve releases the locks, and waits until each waiter has had one.
func (o order) serve(ctx context.Context, held []worker, wait *waiting, servers meter, f figures) error {
	start, err := servers.work(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := inParallel(o.Held, func(i int) error { return held[i].unlock(ctx) }); err != nil {
		return err
	}
	wait.done.Wait()
	seconds := time.Since(began).Seconds()
	end, err := servers.work(ctx)
	work, n := end.minus(start), float64(o.Workers)
	f[figureAllServed], f[figureGrants] = seconds, n/seconds
	f[figureGrantCPU], f[figureGrantScripts] = work[countCPU]/n, work[countScripts]/n
	return errors.Join(err, errors.Join(wait.errs...))
}

// waiting is workers each of which waits for its lock, and unlocks it at once when it gets it.
type waiting struct {
	ctx     context.Context
	workers []worker
	errs    []error
	done    sync.WaitGroup
}

func newWaiting(ctx context.Context, workers []worker) *waiting {
	return &waiting{ctx: ctx, workers: workers, errs: make([]error, len(workers))}
}

// begin returns when all wait, if the client can tell. The first one of each lock waits before the
// others begin: it asks the server, and those behind it do not.
func (w *waiting) begin(c client, locks int) error {
	for i, worker := range w.workers {
		if i == locks {
			if err := w.await(c, i); err != nil {
				return err
			}
		}
		w.done.Go(func() { w.errs[i] = worker.once(w.ctx) })
	}
	return w.await(c, len(w.workers))
}

// await waits until so many wait.
func (w *waiting) await(c client, n int) error {
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	for c.waiters != nil && c.waiters() < n {
		if err := until(ctx, time.Now().Add(10*time.Millisecond)); err != nil {
			return fmt.Errorf("%d of %d wait: %w", c.waiters(), n, err)
		}
	}
	return nil
}

// usage is what a process has in use: bytes of heap that are reachable, those of the stacks, and
// goroutines.
type usage struct{ heap, stacks, goroutines float64 }

func used() usage {
	for range 3 { // a collection halves a stack at the most
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return usage{float64(stats.HeapAlloc), float64(stats.StackInuse), float64(runtime.NumGoroutine())}
}

// each is a part of the difference to an earlier usage.
func (u usage) each(before usage, n int) (heap, stack float64) {
	return (u.heap - before.heap) / float64(n), (u.stacks - before.stacks) / float64(n)
}

// settled polls until the memory in use has changed little for half a second.
func settled(ctx context.Context) usage {
	const patient = 20 * time.Second
	now, calm := used(), 0
	for deadline := time.Now().Add(patient); calm < 5 && time.Now().Before(deadline); {
		if until(ctx, time.Now().Add(100*time.Millisecond)) != nil {
			return now
		}
		last := now.heap + now.stacks
		now = used()
		if is := now.heap + now.stacks; max(is, last) < 1.01*min(is, last) {
			calm++
		} else {
			calm = 0
		}
	}
	return now
}

// inParallel calls a function for each number, 64 at a time.
func inParallel(n int, work func(i int) error) error {
	const atATime = 64
	errs := make([]error, atATime)
	var working sync.WaitGroup
	for first := range min(n, atATime) {
		working.Go(func() {
			for i := first; i < n && errs[first] == nil; i += atATime {
				errs[first] = work(i)
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

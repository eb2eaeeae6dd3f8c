package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"
)

// What one hold, one waiter and one client cost, in processes with nothing else in them: some keep their
// locks, and others wait for these locks.

const (
	figureReleased  = "all released after, s"
	figureLosses    = "losses"
	figureAllServed = "all done after, s"

	// of each hold and of each waiter
	figureHeap       = "heap, bytes"
	figureStack      = "stack, bytes"
	figureGoroutines = "goroutines"
	figureCommands   = "commands" // those inside of scripts included
	figureWaiters    = "waiters"

	aHold, aWaiter = "a hold", "a waiter"
)

// each is a figure of each hold, or of each waiter.
func each(figure, of string) string { return figure + " " + of }

// inUse is what the process has in use: heap that is reachable, stacks, goroutines.
func inUse(clients []client) figures {
	for range 3 { // a collection halves a stack at the most
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	f := figures{
		figureHeap: float64(stats.HeapAlloc), figureStack: float64(stats.StackInuse),
		figureGoroutines: float64(runtime.NumGoroutine()),
	}
	for _, c := range clients {
		if c.waiters != nil {
			f[figureWaiters] += float64(c.waiters())
		}
	}
	return f
}

// keep has each worker lock before the start, and keep the lock. What the user keeps between two locks
// does not count, nor does a client that has all holds.
func (o order) keep(ctx context.Context, workers []worker, mark func(), ready ready) (figures, error) {
	if err := inParallel(len(workers), func(i int) error { return workers[i].lock(ctx) }); err != nil {
		return nil, err
	}
	began, err := ready()
	if err != nil {
		return nil, err
	}
	counts := began.Add(o.WarmUp)
	for _, moment := range []time.Time{counts, counts.Add(o.For)} {
		time.Sleep(time.Until(moment))
		mark()
	}
	var mu sync.Mutex
	f, end := figures{figureLosses: 0}, time.Now()
	_ = inParallel(len(workers), func(i int) error {
		if workers[i].unlock(ctx) != nil {
			mu.Lock()
			defer mu.Unlock()
			f[figureLosses]++
		}
		return nil
	})
	f[figureReleased] = time.Since(end).Seconds()
	return f, nil
}

// crowd is what is measured together on one server, which is the benchmark's unless it is started.
type crowd struct {
	contestant contestant
	start      func() (*server, error)
	holds      order // are measured alone
	held       order // are what the waiters wait for
	waiters    order
}

// perform has new processes carry out orders, and watches the server.
func perform(ctx context.Context, c contestant, s *server, orders ...order) (w watched, reports []report, err error) {
	for i := range orders {
		orders[i].Contestant, orders[i].Address, orders[i].Process = c.name, s.address, i
	}
	start, err := s.work(ctx)
	if err != nil {
		return w, nil, err
	}
	reports, err = inFresh(ctx, orders, func(began time.Time) (err error) {
		w, err = watch(ctx, s, began.Add(orders[0].WarmUp), orders[0].For)
		return err
	})
	if err != nil {
		return w, nil, err
	}
	w.work[countConnections] += w.before[countConnections] - start[countConnections]
	for _, r := range reports {
		for _, h := range r.Holds {
			if !h.Stranded && h.Granted < w.window.to {
				err = errors.Join(err, fmt.Errorf("a wait for a held lock ended: %+v", h))
			}
		}
	}
	return w, reports, err
}

// row measures holds, and then waiters.
func (c crowd) row(b *bench, name string) row {
	return row{name: name, slice: func(ctx context.Context, _ int) (f figures, err error) {
		f, s := figures{}, b.server
		if c.start != nil {
			if s, err = c.start(); err != nil {
				return nil, err
			}
			defer s.end()
		}
		c.holds.Name = freshName("own")
		w, reports, err := perform(ctx, c.contestant, s, c.holds)
		if err != nil {
			return nil, err
		}
		f.note(aHold, w, c.holds, reports[0])
		maps.Copy(f, reports[0].Figures)
		c.held.Name = freshName("held")
		c.waiters.Name = c.held.Name
		w, reports, err = perform(ctx, c.contestant, s, c.held, c.waiters)
		if err != nil {
			return nil, err
		}
		f.note(aWaiter, w, c.waiters, reports[1])
		f[figureAllServed] = newLedger(reports[1].Holds, w.window).tail().Seconds()
		if wait, known := f[each(figureWaiters, aWaiter)]; known && wait != 0 && wait != 1 {
			err = errors.Join(err, fmt.Errorf("only %v of the waiters wait", wait))
		}
		return f, err
	}}
}

// note divides what so many have in use, and what the server did for them.
func (f figures) note(of string, w watched, o order, r report) {
	all := figures{countConnections: w.work[countConnections], figureCommands: w.work[countScripts] + w.work[countOthers]}
	if len(r.Marks) > 1 {
		for figure, count := range r.Marks[1].InUse.minus(r.Marks[0].InUse) {
			all[figure] = count
		}
	}
	for figure, count := range all {
		f[each(figure, of)] = count / float64(o.Workers)
	}
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

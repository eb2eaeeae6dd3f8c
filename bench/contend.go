package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
)

// One lock that everybody wants.

// contention is a slice of such a contest: one process for each of the contestants.
type contention struct {
	who            []contestant
	workers        int // of each process
	section        time.Duration
	warmUp, length time.Duration
	clocksDiffer   bool // by a millisecond at the most
}

// foreignClock is by how much the clock of another runtime may differ: Node sets its own by ticks of
// a millisecond.
const foreignClock = time.Millisecond

// contend performs the slice.
func (b *bench) contend(ctx context.Context, c contention) (figures, error) {
	helpers, err := b.residents(ctx, c.who...)
	if err != nil {
		return nil, err
	}
	var orders []order
	name, server := freshName("contend"), b.serverOf(c.who[0])
	for i, who := range c.who {
		orders = append(orders, order{
			Task: taskContend, Contestant: who.name, Address: server.address, Name: name, Process: i,
			Workers: c.workers, Section: c.section, WarmUp: c.warmUp, For: c.warmUp + c.length,
		})
	}
	var work [2]figures
	var moments [2]mark
	began, reports, err := helpers.perform(ctx, orders, hooks{began: func(at time.Time) (err error) {
		for i, end := range []time.Duration{c.warmUp, c.warmUp + c.length} {
			if err = until(ctx, at.Add(end)); err == nil {
				moments[i].Moment = time.Now().UnixNano()
				work[i], err = server.work(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	var holds []hold
	for _, r := range reports {
		holds = append(holds, r.Holds...)
	}
	l, slack := newLedger(holds, after(began, c.warmUp, c.length)), time.Duration(0)
	if c.clocksDiffer {
		slack = foreignClock
	}
	f := l.figures()
	maps.Copy(f, l.costs(work[1].minus(work[0]), moments, reports))
	return f, l.exclusive(slack)
}

// mark is what a process had written until a moment.
type mark struct{ Moment, Writes int64 }

// contend lets the workers of this process contend for the order's lock.
func (o order) contend(ctx context.Context, c client, wire *wire, ready ready) (r report, err error) {
	workers, err := makeWorkers(c, o.Workers, func(int) string { return o.Name })
	if err != nil {
		return r, err
	}
	runtime.GC()
	began, err := ready()
	if err != nil {
		return r, err
	}
	end := began.Add(o.For)
	ctx, cancel := context.WithDeadline(ctx, end.Add(patience))
	defer cancel()
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Go(func() {
		for _, moment := range []time.Time{began.Add(o.WarmUp), end} {
			_ = until(ctx, moment)
			r.Writes = append(r.Writes, mark{time.Now().UnixNano(), wire.writes.Load()})
		}
	})
	all := make([][]hold, len(workers))
	for i, w := range workers {
		// Growing it would stop the worker while it holds the lock.
		all[i] = make([]hold, 0, 1<<18/len(workers))
		done.Go(func() {
			failed := o.holdUntil(ctx, w, seat{o.Process, i}, end, &all[i])
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
	}
	done.Wait()
	r.Holds = slices.Concat(all...)
	return r, err
}

// patience is for how long a worker may outlast its slice. Nobody contends any more by then: who is
// not served within this time is not on the way to be.
const patience = time.Second

// workFor is how long the lock is held each time at least. It is short beside any round trip, and long
// enough that two who hold the lock at once are found out among thousands.
const workFor = 200 * time.Nanosecond

// holdUntil takes the lock again and again until the end. Whoever waits then may go on for a while, so
// that the tail is seen.
func (o order) holdUntil(ctx context.Context, w worker, me seat, end time.Time, holds *[]hold) error {
	for {
		asked := time.Now()
		if !asked.Before(end) {
			return nil
		}
		err := w.lock(ctx)
		if err != nil && ctx.Err() != nil {
			now := time.Now().UnixNano()
			*holds = append(*holds, hold{me.process, me.worker, asked.UnixNano(), now, now, true})
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		granted := time.Now()
		if o.Section >= time.Millisecond { // a shorter sleep takes as long
			time.Sleep(time.Until(granted.Add(o.Section)))
		}
		given := granted
		for given.Sub(granted) < max(o.Section, workFor) {
			given = time.Now()
		}
		// The end of the race ends a wait, and no release.
		if err := w.unlock(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("unlock: %w", err)
		}
		*holds = append(*holds, hold{me.process, me.worker, asked.UnixNano(), granted.UnixNano(), given.UnixNano(), false})
	}
}

// costs are the server's work and the writes for each grant, as far as they are known.
func (l ledger) costs(work figures, ends [2]mark, reports []report) figures {
	f := figures{}
	each := func(count float64, from, to int64) float64 {
		return count / math.Max(float64(len(l.grantedIn(window{from, to}))), 1)
	}
	if _, known := work[countScripts]; known {
		for figure, count := range map[string]string{
			figureScriptsEach: countScripts, figureScriptTime: countScriptTime, figureListenTime: countListenTime,
		} {
			f[figure] = each(work[count], ends[0].Moment, ends[1].Moment)
		}
		f[figureServerTime] = f[figureScriptTime] + f[figureListenTime]
	}
	if w := reports[0].Writes; len(w) == 2 && len(reports) == 1 {
		f[figureWritesEach] = each(float64(w[1].Writes-w[0].Writes), w[0].Moment, w[1].Moment)
	}
	return f
}

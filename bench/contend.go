package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// One lock that everybody wants.

// contention is a slice of such a contest: one process for each of the contestants.
type contention struct {
	who            []contestant
	workers        int // of each process
	clients        int // of each process, that share its workers; 0 for one
	section        time.Duration
	warmUp, length time.Duration
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
	var slack time.Duration
	name, server := freshName("contend"), b.server
	for i, who := range c.who {
		orders = append(orders, order{
			Task: taskContend, Contestant: who.name, Address: server.address, Name: name, Locks: 1, Process: i,
			Workers: c.workers, Clients: c.clients, Section: c.section, WarmUp: c.warmUp, For: c.length,
		})
		if who.foreign && !c.who[0].foreign {
			slack = foreignClock
		}
	}
	var w watched
	reports, err := helpers.perform(ctx, orders, nil, func(began time.Time) (err error) {
		w, err = watch(ctx, server, began.Add(c.warmUp), c.length)
		return err
	})
	if err != nil {
		return nil, err
	}
	var holds []hold
	for _, r := range reports {
		holds = append(holds, r.Holds...)
	}
	l := newLedger(holds, w.window)
	f := l.figures()
	maps.Copy(f, l.costs(w, reports))
	return f, l.exclusive(slack)
}

// watched is what a server did between two moments of a window.
type watched struct {
	window              window // as it was to be
	real                window // as it was
	before, after, work figures
}

// watch waits until the moment, and then as long as it says.
func watch(ctx context.Context, server *server, from time.Time, length time.Duration) (w watched, err error) {
	w.window = window{from.UnixNano(), from.Add(length).UnixNano()}
	work := func(moment int64) (at int64, work figures) {
		if err == nil {
			err = pause.For(ctx, time.Until(time.Unix(0, moment)))
		}
		at = time.Now().UnixNano()
		if err == nil {
			work, err = server.work(ctx)
		}
		return at, work
	}
	w.real.from, w.before = work(w.window.from)
	w.real.to, w.after = work(w.window.to)
	w.work = w.after.minus(w.before)
	return w, err
}

// contend lets the workers of this process contend for the order's locks.
func (o order) contend(ctx context.Context, workers []worker, mark func(), ready ready) (holds []hold, err error) {
	all := make([][]hold, len(workers))
	for i := 0; i < len(all) && !o.Weigh; i++ {
		// Growing it would stop the worker while it holds the lock.
		all[i] = make([]hold, 0, 1<<18/len(workers)+1)
	}
	runtime.GC()
	began, err := ready()
	if err != nil {
		return nil, err
	}
	counts := began.Add(o.WarmUp)
	end := counts.Add(o.For)
	ctx, cancel := context.WithDeadline(ctx, end.Add(patience+o.Patience))
	defer cancel()
	var mu sync.Mutex
	var done sync.WaitGroup
	done.Go(func() {
		for _, moment := range []time.Time{counts, end} {
			_ = pause.For(ctx, time.Until(moment))
			mark()
		}
	})
	for i, w := range workers {
		// The first one of each lock asks the server. Those that come behind it do not.
		if o.Weigh && i == o.Locks {
			_ = pause.For(ctx, time.Until(began.Add(o.WarmUp/4)))
		}
		done.Go(func() {
			failed := o.holdUntil(ctx, w, seat{o.Process, i}, end, &all[i])
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
	}
	done.Wait()
	return slices.Concat(all...), err
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
func (l ledger) costs(w watched, reports []report) figures {
	f := figures{}
	each := func(count float64, during window) float64 {
		return count / max(float64(len(l.grantedIn(during))), 1)
	}
	if _, known := w.work[countScripts]; known {
		for figure, count := range map[string]string{
			figureScriptsEach: countScripts, figureServerTime: countTime, figureServerCPU: countCPU,
		} {
			f[figure] = each(w.work[count], w.real)
		}
	}
	if m := reports[0].Marks; len(m) == 3 && len(reports) == 1 {
		f[figureWritesEach] = each(float64(m[2].Writes-m[1].Writes), window{m[1].Moment, m[2].Moment})
	}
	return f
}

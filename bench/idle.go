package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The fifth table: what a waiter costs while nothing changes.

// idleWaiters is how many wait, on one lock or each on its own.
const idleWaiters = 100

// idleRow is what one waiter costs the server in a second.
type idleRow struct {
	shared, own rate
}

type rate struct{ scripts, others, bytes float64 }

// commands are all that the server carries out, those inside of scripts included.
func (r rate) commands() float64 { return r.scripts + r.others }

// hold takes some locks and keeps them until the time is up.
func (o order) hold(ctx context.Context, c contestant, ready func() (time.Time, error)) error {
	workers := make([]worker, o.Locks)
	for i := range workers {
		workers[i] = c.Worker(o.lock(i))
		if err := workers[i].Lock(ctx); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
	}
	began, err := ready()
	if err != nil {
		return err
	}
	const often = 2 * time.Second // shorter than half of the shortest lease
	tick := time.NewTicker(often)
	defer tick.Stop()
	end := time.NewTimer(time.Until(began.Add(o.For)))
	defer end.Stop()
	for {
		select {
		case <-end.C:
			return nil // the process ends, and nobody waits any more
		case <-tick.C:
			if err := extend(ctx, workers); err != nil {
				return fmt.Errorf("extend: %w", err)
			}
		}
	}
}

// extender is a worker whose library leaves it to the user to renew.
type extender interface {
	Extend(ctx context.Context) error
}

func extend(ctx context.Context, workers []worker) error {
	for _, w := range workers {
		if e, ok := w.(extender); ok {
			if err := e.Extend(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o order) lock(i int) string { return fmt.Sprintf("%s:%d", o.Name, i) }

// wait begins to wait for held locks after the warm-up, in vain until the time is up.
func (o order) wait(ctx context.Context, c contestant, ready func() (time.Time, error)) error {
	began, err := ready()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, began.Add(o.For))
	defer cancel()
	begin := time.NewTimer(time.Until(began.Add(o.WarmUp)))
	defer begin.Stop()
	<-begin.C
	var waiting sync.WaitGroup
	var once sync.Once
	for i := range o.Workers {
		w := c.Worker(o.lock(i % o.Locks))
		waiting.Go(func() {
			if lockErr := w.Lock(ctx); ctx.Err() == nil {
				once.Do(func() { err = fmt.Errorf("a wait for a held lock ended: %v", lockErr) })
			}
		})
	}
	waiting.Wait()
	return err
}

// idlers are the libraries that wait for a lock in Redis, with their default settings.
func (b *bench) idlers() []entrant {
	var idlers []entrant
	for _, name := range append([]string{nameRedlatch}, rivals()...) {
		e, _ := findEntrant(name)
		idlers = append(idlers, e)
	}
	return b.present(idlers)
}

// measureIdle lets all libraries wait at the same time, each on servers of its own: what it takes is
// time rather than a processor.
func measureIdle(ctx context.Context, b *bench) (map[string]idleRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := map[string]idleRow{}
	var mu sync.Mutex
	var first error
	var measuring sync.WaitGroup
	for _, e := range b.idlers() {
		measuring.Go(func() {
			row, err := b.idleRow(ctx, e)
			mu.Lock()
			defer mu.Unlock()
			if rows[e.name] = row; err != nil && first == nil {
				first = fmt.Errorf("%s: %w", e.name, err)
				cancel()
			}
		})
	}
	measuring.Wait()
	return rows, first
}

func (b *bench) idleRow(ctx context.Context, e entrant) (row idleRow, err error) {
	var shared sync.WaitGroup
	var other error
	shared.Go(func() { row.shared, other = b.idleRate(ctx, e, 1) })
	row.own, err = b.idleRate(ctx, e, idleWaiters)
	shared.Wait()
	if err == nil {
		err = other
	}
	return row, err
}

// idleRate is the difference that the waiters make to a server with holders alone.
func (b *bench) idleRate(ctx context.Context, e entrant, locks int) (r rate, err error) {
	server, err := startServer(ctx, redisServer)
	if err != nil {
		return r, err
	}
	defer server.stop()
	m, err := newMeter(server.address)
	if err != nil {
		return r, err
	}
	defer m.close()
	c, err := b.fresh(ctx, e, 2)
	if err != nil {
		return r, err
	}
	defer c.end()
	length, settle := b.plan.idleSlice, b.plan.settle
	waitersBegin := b.plan.firstRenewal + length + settle
	o := order{Address: server.address, Entrant: e.name, Name: "idle", Workers: idleWaiters, Locks: locks, WarmUp: waitersBegin}
	hold, wait := o, o
	hold.Task, hold.For = taskHold, waitersBegin+length+3*settle
	wait.Task, wait.For = taskWait, waitersBegin+length+2*settle
	defer c.limit(ctx, []order{hold, wait})()
	if err = c.prepare([]order{hold, wait}); err != nil {
		return r, err
	}
	began, err := c.start()
	if err != nil {
		return r, err
	}
	without, err := m.idle(ctx, began.Add(b.plan.firstRenewal), length)
	if err != nil {
		return r, err
	}
	with, err := m.idle(ctx, began.Add(waitersBegin+settle), length)
	if err != nil {
		return r, err
	}
	_, err = c.reports()
	return rate{
		(with.scripts - without.scripts) / idleWaiters, (with.others - without.others) / idleWaiters,
		(with.bytes - without.bytes) / idleWaiters,
	}, err
}

// idle is what a server does in a second of a window that begins at a moment.
func (m *meter) idle(ctx context.Context, from time.Time, length time.Duration) (r rate, err error) {
	var done [2]work
	var bytes [2]int64
	for i, moment := range []time.Time{from, from.Add(length)} {
		if err = until(ctx, moment); err == nil {
			bytes[i], err = m.bytes(ctx)
		}
		if err == nil {
			done[i], err = m.work(ctx)
		}
		if err != nil {
			return r, err
		}
	}
	made, seconds := done[1].minus(done[0]), length.Seconds()
	return rate{float64(made.scripts) / seconds, float64(made.others) / seconds, float64(bytes[1]-bytes[0]) / seconds}, nil
}

func (p page) idle(rows map[string]idleRow, w time.Duration) {
	p.line("### What a waiter costs while nothing changes\n")
	p.line("%d waiters of one process, for %v. Per waiter and second.\n", idleWaiters, w)
	var lines [][]string
	for _, e := range racers() {
		if r, found := rows[e.name]; found {
			lines = append(lines, append(append([]string{e.name}, r.shared.cells()...), r.own.cells()...))
		}
	}
	p.table([]string{
		"", "all wait for one lock: scripts", "other commands", "bytes",
		"each for a lock of its own: scripts", "other commands", "bytes",
	}, lines)
}

func (r rate) cells() []string {
	return []string{fmt.Sprintf("%.3f", r.scripts), fmt.Sprintf("%.3f", r.others), fmt.Sprintf("%.1f", r.bytes)}
}

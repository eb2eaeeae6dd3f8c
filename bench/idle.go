package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// What a waiter costs while nothing changes.

// idleWaiters is how many wait, on one lock or each on its own.
const idleWaiters = 100

// hold takes some locks and keeps them until the time is up.
func (o order) hold(ctx context.Context, c client, ready ready) error {
	workers, err := o.workers(c, o.Locks)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if err := w.lock(ctx); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
	}
	began, err := ready()
	if err != nil {
		return err
	}
	const often = 2 * time.Second // shorter than half of the shortest lease
	for end := began.Add(o.For); time.Now().Before(end); {
		if err := until(ctx, earlier(end, time.Now().Add(often))); err != nil {
			return err
		}
		for _, w := range workers {
			if w.extend == nil {
				continue
			}
			if err := w.extend(ctx); err != nil {
				return fmt.Errorf("extend: %w", err)
			}
		}
	}
	return nil // the process ends, and nobody waits any more
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// wait begins to wait for held locks after the warm-up, in vain until the time is up.
func (o order) wait(ctx context.Context, c client, ready ready) error {
	workers, err := o.workers(c, o.Workers)
	if err != nil {
		return err
	}
	began, err := ready()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, began.Add(o.For))
	defer cancel()
	if err := until(ctx, began.Add(o.WarmUp)); err != nil {
		return err
	}
	var waiting sync.WaitGroup
	errs := make([]error, len(workers))
	for i, w := range workers {
		waiting.Go(func() {
			if err := w.lock(ctx); ctx.Err() == nil {
				errs[i] = fmt.Errorf("a wait for a held lock ended: %v", err)
			}
		})
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// idle is what a waiter costs the server in a second, with one lock for all and with one for each.
func (b *bench) idle(c contestant) row {
	return row{name: c.name, slice: func(ctx context.Context, _ int) (f figures, err error) {
		f = figures{}
		var mu sync.Mutex
		var measuring sync.WaitGroup
		for _, locks := range []int{1, idleWaiters} {
			measuring.Go(func() {
				each, failed := b.idleWith(ctx, c, locks)
				mu.Lock()
				defer mu.Unlock()
				for _, count := range []string{countScripts, countOthers, countBytes} {
					f[idleFigure(count, locks)] = each[count] / idleWaiters / b.plan.idleSlice.Seconds()
				}
				f[idleFigure(countAll, locks)] = f[idleFigure(countScripts, locks)] + f[idleFigure(countOthers, locks)]
				err = errors.Join(err, failed)
			})
		}
		measuring.Wait()
		return f, err
	}}
}

const countAll = "commands" // those inside of scripts included

func idleFigure(count string, locks int) string { return fmt.Sprintf("%s with %d locks", count, locks) }

// idleWith is the difference that the waiters make to a server with holders alone.
func (b *bench) idleWith(ctx context.Context, c contestant, locks int) (figures, error) {
	server, err := startRedis(ctx, redisServer)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	helpers, err := b.fresh(c, 2)
	if err != nil {
		return nil, err
	}
	defer helpers.end()
	length, settle := b.plan.idleSlice, b.plan.settle
	begin := b.plan.firstRenewal + length + settle
	hold := order{
		Task: taskHold, Contestant: c.name, Address: server.address, Name: "idle", Workers: idleWaiters, Locks: locks,
		WarmUp: begin, For: begin + length + 3*settle,
	}
	wait := hold
	wait.Task, wait.For = taskWait, begin+length+2*settle
	var ends [4]figures
	_, _, err = helpers.perform(ctx, []order{hold, wait}, hooks{began: func(at time.Time) (err error) {
		for i, moment := range []time.Duration{b.plan.firstRenewal, b.plan.firstRenewal + length, begin + settle, begin + settle + length} {
			if err = until(ctx, at.Add(moment)); err == nil {
				ends[i], err = server.work(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}})
	return ends[3].minus(ends[2]).minus(ends[1].minus(ends[0])), err
}

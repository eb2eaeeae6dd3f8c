package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// Many who wait for the permits of one semaphore, which another client has at first.

const permitsOfMany = 100

// permitQueue is what one semaphore with many waiters comes to.
type permitQueue struct {
	waiters          int
	heap, stack      float64 // bytes of each waiter
	seconds          float64 // until all have had a permit
	micros           float64 // of the server for each
	scripts, waiting float64 // scripts for each, and commands while all of them wait
}

func (q permitQueue) row() []string {
	return []string{
		fmt.Sprintf("%d waiters, %d permits", q.waiters, permitsOfMany), fmt.Sprintf("%.2f", q.seconds),
		fmt.Sprintf("%.0f", float64(q.waiters)/q.seconds), fmt.Sprintf("%.1f", q.micros), fmt.Sprintf("%.2f", q.scripts),
		fmt.Sprintf("%.2f", q.waiting), fmt.Sprintf("%.0f", q.heap), fmt.Sprintf("%.0f", q.stack),
	}
}

func (p page) permitQueue(q permitQueue) {
	p.line("### One PermitSemaphore, many waiters of one process, each of which puts its permit back at once\n")
	p.table([]string{"", "all done after, s", "permits/s", "server CPU a permit, µs", "scripts a permit", "commands/s while all wait", "heap of a waiter, bytes", "stack, bytes"}, [][]string{q.row()})
}

func measurePermitQueue(ctx context.Context, b *bench) (q permitQueue, err error) {
	q.waiters = b.plan.memory
	var clients [2]*redlatch.Client
	for i := range clients {
		if clients[i], err = redlatch.Open(ctx, "redis://"+b.server.address, redlatch.Config{}); err != nil {
			return q, err
		}
		defer clients[i].Close(context.Background())
	}
	name := fmt.Sprintf("permits:%d", ownNames.Add(1))
	if _, err := clients[0].PermitSemaphore(name).TrySetPermits(ctx, permitsOfMany); err != nil {
		return q, err
	}
	var holds [permitsOfMany]*redlatch.Hold
	for i := range holds {
		if holds[i], err = clients[1].PermitSemaphore(name).Acquire(ctx); err != nil {
			return q, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	before := used()
	var waiting sync.WaitGroup
	failures := make(chan error, q.waiters)
	for range q.waiters {
		waiting.Go(func() {
			hold, err := clients[0].PermitSemaphore(name).Acquire(ctx)
			if err == nil {
				err = hold.Unlock(ctx)
			}
			if err != nil {
				failures <- err
			}
		})
	}
	if err := awaitWaiters(ctx, clients[0], q.waiters); err != nil {
		return q, err
	}
	if err := q.idle(ctx, b); err != nil {
		return q, err
	}
	q.heap, q.stack = used().each(before, q.waiters)
	return q, q.serve(ctx, b, holds[:], &waiting, failures)
}

// idle counts commands while all wait.
func (q *permitQueue) idle(ctx context.Context, b *bench) error {
	d := deployment{meters: []*meter{b.meter}}
	if err := until(ctx, time.Now().Add(b.plan.settle)); err != nil {
		return err
	}
	commands, err := d.during(ctx, b.plan.idleSlice)
	q.waiting = commands / b.plan.idleSlice.Seconds()
	return err
}

// serve puts the permits back, one after another, and waits until all waiters have had one.
func (q *permitQueue) serve(ctx context.Context, b *bench, holds []*redlatch.Hold, waiting *sync.WaitGroup, failures <-chan error) error {
	before, err := b.meter.work(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for _, h := range holds {
		if err := h.Unlock(ctx); err != nil {
			return err
		}
	}
	waiting.Wait()
	q.seconds = time.Since(began).Seconds()
	if n := len(failures); n > 0 {
		return fmt.Errorf("%d waiters for permits failed: %w", n, <-failures)
	}
	after, err := b.meter.work(ctx)
	done := after.minus(before)
	q.micros = float64(done.cpu.Microseconds()) / float64(q.waiters)
	q.scripts = float64(done.scripts) / float64(q.waiters)
	return err
}

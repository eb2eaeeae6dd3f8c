package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// The second table: one lock, many goroutines of one process.

const hotWorkers = 16

// hotRun is one contestant's slice of one round.
type hotRun struct {
	ledger  ledger // without the warm-up
	cycles  int64  // with it
	writes  int64
	request work
}

func (r hotRun) per(n float64) float64 { return n / float64(r.cycles) }

// measureHot lets the libraries take turns.
func measureHot(ctx context.Context, b *bench) (map[string][]hotRun, error) {
	runs := map[string][]hotRun{}
	for round := range b.plan.hotRounds {
		for _, e := range racers() {
			run, err := hotSlice(ctx, b, e, fmt.Sprintf("hot:%s:%d", e.name, round))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
			runs[e.name] = append(runs[e.name], run)
		}
	}
	return runs, nil
}

func hotSlice(ctx context.Context, b *bench, e entrant, name string) (hotRun, error) {
	wire := new(wire)
	c, err := e.open(ctx, b.server.address, wire)
	if err != nil {
		return hotRun{}, err
	}
	defer c.Close()
	runtime.GC()
	workBefore, err := b.meter.work(ctx)
	if err != nil {
		return hotRun{}, err
	}
	writesBefore := wire.writes.Load()
	began := time.Now()
	holds, err := contend(ctx, c, name, 0, hotWorkers, began.Add(b.plan.warmUp+b.plan.hotSlice))
	if err != nil {
		return hotRun{}, err
	}
	run := hotRun{cycles: int64(len(holds)), writes: wire.writes.Load() - writesBefore}
	workAfter, err := b.meter.work(ctx)
	if err != nil {
		return run, err
	}
	run.request = workAfter.minus(workBefore)
	all := newLedger(holds)
	run.ledger = all.since(began.Add(b.plan.warmUp).UnixNano())
	return run, all.granted().exclusive()
}

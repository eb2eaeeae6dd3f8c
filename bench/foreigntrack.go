package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// foreignTrack makes pairs in a process of another language, which generates the load itself.
type foreignTrack struct {
	bench      *bench
	name       string
	goroutines int
	names      string // of its locks; they are kept
}

// open starts the process unless it runs.
func (a *foreignTrack) open(ctx context.Context) error {
	if a.names == "" {
		a.names = fmt.Sprintf("own:%d", ownNames.Add(1))
	}
	_, err := a.bench.residents(ctx, a.name, crossProcesses)
	return err
}

func (a *foreignTrack) close() {}

func (a *foreignTrack) unstick() error { return fmt.Errorf("%s cannot be closed", a.name) }

func (a *foreignTrack) run(ctx context.Context, m *meter, length time.Duration) (run pairRun, stuck int, err error) {
	c, err := a.bench.residents(ctx, a.name, 1)
	if err != nil {
		return run, 0, err
	}
	before, err := m.work(ctx)
	if err != nil {
		return run, 0, err
	}
	_, reports, err := c.perform(ctx, []order{{
		Task: taskPairs, Address: a.bench.server.address, Name: a.names, Workers: a.goroutines,
		WarmUp: length / 4, For: length,
	}})
	if err != nil {
		return run, 0, err
	}
	after, err := m.work(ctx)
	s := reports[0].Slice
	return pairRun{
		inside: s.Inside, window: s.Window, pairs: s.Pairs, cpu: s.CPU, request: after.minus(before),
		allocs: math.NaN(), bytes: math.NaN(), writes: math.NaN(),
	}, 0, err
}

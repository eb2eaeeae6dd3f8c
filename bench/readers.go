package main

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
)

// One read-write lock that is mostly read, many goroutines of one process.

const (
	readerWorkers = 16
	readsPerWrite = 99

	nameReaders       = "redlatch, RWMutex"
	nameReadersCohort = "redlatch, RWMutex, cohort"
)

// readers are the entrants of this table.
func readers() []entrant {
	return []entrant{
		{name: nameReaders, open: openReaders()},
		{name: nameReadersCohort, open: openReaders(redlatch.WithCohort(stay))},
	}
}

type readersContestant struct {
	*redlatchContestant
	options []redlatch.LockOption // of readers
}

func openReaders(options ...redlatch.LockOption) func(context.Context, string, *wire) (contestant, error) {
	return func(ctx context.Context, address string, wire *wire) (contestant, error) {
		c, err := openRedlatch(ctx, address, wire)
		return &readersContestant{c, options}, err
	}
}

// Worker returns a worker that writes now and then.
func (c *readersContestant) Worker(name string) worker {
	return &readerWorker{mutex: c.client.RWMutex(name), options: c.options}
}

type readerWorker struct {
	mutex   *redlatch.RWMutex
	options []redlatch.LockOption // of a reader
	hold    *redlatch.Hold
	reads   int // since the last write
}

// Lock waits for one of the sides.
func (w *readerWorker) Lock(ctx context.Context) (err error) {
	if w.reads == readsPerWrite {
		w.reads = 0
		w.hold, err = w.mutex.Lock(ctx)
		return err
	}
	w.reads++
	w.hold, err = w.mutex.RLock(ctx, w.options...)
	return err
}

// Unlock gives it back.
func (w *readerWorker) Unlock(ctx context.Context) error { return w.hold.Unlock(ctx) }

// measureReaders lets the entrants take turns. What is counted is what is counted of pairs.
func measureReaders(ctx context.Context, b *bench) (map[string][]pairRun, error) {
	table := pairTable{goroutines: readerWorkers, runs: map[string][]pairRun{}, stuck: map[string]int{}}
	for range b.plan.hotRounds {
		for _, e := range readers() {
			s := subject{e, &track{entrant: e, server: b.server, goroutines: readerWorkers, shared: true}}
			run, err := table.run(ctx, b, s, b.plan.hotSlice)
			s.close()
			if err != nil {
				return nil, err
			}
			table.runs[e.name] = append(table.runs[e.name], run)
		}
	}
	return table.runs, nil
}

func (p page) readers(runs map[string][]pairRun) {
	p.line("### One lock that is mostly read, %d goroutines of one process\n", readerWorkers)
	var rows [][]string
	for _, e := range readers() {
		of := func(figure func(pairRun) float64) float64 { return column(runs[e.name], figure) }
		rows = append(rows, []string{
			e.name,
			fmt.Sprintf("%.0f", of(pairRun.perSecond)),
			fmt.Sprintf("%.1f", of(pairRun.cpuMicros)),
			fmt.Sprintf("%.1f", of(pairRun.serverMicros)),
			fmt.Sprintf("%.2f", of(func(r pairRun) float64 { return r.per(r.writes) })),
		})
	}
	p.table([]string{"", "pairs/s", "own CPU, µs", "server CPU, µs", "writes"}, rows)
}

func readerGoal(runs map[string][]pairRun) goal {
	return atLeast(20, ratios(runs[nameReadersCohort], runs[nameReaders], pairRun.perSecond),
		"pairs/s of a lock that is mostly read, with a cohort, × without")
}

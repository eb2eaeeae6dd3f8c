package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The first table: lock and unlock, each goroutine its own name.

// pairRun is one contestant's slice of one round.
type pairRun struct {
	// The rate counts what was finished while everybody was busy. At the beginning everybody
	// begins at once, and at the end those who are late have the server for themselves.
	inside int64
	window time.Duration

	// The costs are those of the whole run, so that no pair is counted in part.
	pairs   int64
	cpu     time.Duration
	allocs  float64 // NaN where nobody can tell, here and below
	bytes   float64
	writes  float64
	request work
}

func (r pairRun) perSecond() float64 { return float64(r.inside) / r.window.Seconds() }

// micros is the time between two finished pairs, whoever made them.
func (r pairRun) micros() float64 { return 1e6 / r.perSecond() }

// cpuMicros is the processor time of this process for one pair.
func (r pairRun) cpuMicros() float64 { return r.per(float64(r.cpu.Nanoseconds()) / 1e3) }

// serverMicros is the processor time of the server for one pair.
func (r pairRun) serverMicros() float64 { return r.per(float64(r.request.cpu.Nanoseconds()) / 1e3) }

func (r pairRun) per(n float64) float64 { return n / float64(r.pairs) }

// pairTable is the runs of every entrant, round by round.
type pairTable struct {
	goroutines int
	runs       map[string][]pairRun
	stuck      map[string]int // acquisitions of a free lock that did not return
}

// measurePairs lets all entrants of the first table take turns.
func measurePairs(ctx context.Context, b *bench, goroutines int) (pairTable, error) {
	var measured []entrant
	for _, e := range b.present(entrants()) {
		if e.measured(goroutines) && (len(b.rows) == 0 || slices.Contains(b.rows, e.name)) {
			measured = append(measured, e)
		}
	}
	return measureTurns(ctx, b, goroutines, measured)
}

// measureTurns lets entrants take turns. A lone goroutine gets a new connection
// for each slice: rueidis serves it faster until it has seen two callers at once, of
// which one may be its own timer, and not after.
func measureTurns(ctx context.Context, b *bench, goroutines int, entrants []entrant) (pairTable, error) {
	table := pairTable{goroutines: goroutines, runs: map[string][]pairRun{}, stuck: map[string]int{}}
	var subjects []subject
	for _, e := range entrants {
		l := b.subject(e, goroutines)
		subjects = append(subjects, l)
		defer l.close()
		if _, err := table.run(ctx, b, l, b.plan.pairSlice/4); err != nil { // loads scripts, fills pools
			return table, err
		}
	}
	for round := range b.plan.pairRounds {
		for i := range subjects {
			// Each round begins with another one, so that no one always
			// follows the same predecessor's garbage.
			l := subjects[(i+round)%len(subjects)]
			run, err := table.run(ctx, b, l, b.plan.pairSlice)
			if err != nil {
				return table, err
			}
			table.runs[l.entrant.name] = append(table.runs[l.entrant.name], run)
			if goroutines == 1 {
				l.close()
			}
		}
	}
	return table, nil
}

// subject is one entrant and where it makes its pairs.
type subject struct {
	entrant entrant
	pairMaker
}

// pairMaker makes pairs, in this process or in another.
type pairMaker interface {
	// open makes connections unless there are some.
	open(ctx context.Context) error
	// run is one slice. It returns how many acquisitions of a free lock did not return.
	run(ctx context.Context, m *meter, slice time.Duration) (run pairRun, stuck int, err error)
	// unstick closes it, which is to end every acquisition.
	unstick() error
	close()
}

func (b *bench) subject(e entrant, goroutines int) subject {
	if e.foreign {
		return subject{e, &foreignTrack{bench: b, name: e.name, goroutines: goroutines}}
	}
	return subject{e, &track{entrant: e, server: b.serverOf(e), goroutines: goroutines}}
}

// run is one slice of one entrant. One that gets stuck is opened anew and begins
// again, so that a rival's fault neither hangs the benchmark nor slows the rival. A slice that is
// too short for a single pair is repeated for longer.
func (table pairTable) run(ctx context.Context, b *bench, t subject, slice time.Duration) (run pairRun, err error) {
	const attempts = 10
	for range attempts {
		if err = t.open(ctx); err != nil {
			break
		}
		var stuck int
		if run, stuck, err = t.run(ctx, b.meter, slice); err != nil || stuck == 0 && run.inside > 0 {
			break
		}
		if stuck == 0 {
			err = fmt.Errorf("not one pair within %v", slice)
			slice *= 2
			continue
		}
		table.stuck[t.entrant.name] += stuck
		if err = t.unstick(); err != nil {
			break
		}
		err = fmt.Errorf("%d of %d acquisitions of free locks did not return", stuck, table.goroutines)
	}
	if err != nil {
		return run, fmt.Errorf("%s, %d goroutines: %w", t.entrant.name, table.goroutines, err)
	}
	return run, nil
}

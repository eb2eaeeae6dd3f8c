package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The first table: lock and unlock, each goroutine its own name.

// pairRun is one contestant's slice of one round.
type pairRun struct {
	pairs   int64
	took    time.Duration
	cpu     time.Duration
	allocs  uint64
	bytes   uint64
	writes  int64
	request work
}

func (r pairRun) perSecond() float64 { return float64(r.pairs) / r.took.Seconds() }

// micros is the time between two finished pairs, whoever made them.
func (r pairRun) micros() float64 { return float64(r.took.Microseconds()) / float64(r.pairs) }

// cpuMicros is the processor time of this process for one pair.
func (r pairRun) cpuMicros() float64 { return r.per(float64(r.cpu.Nanoseconds()) / 1e3) }

func (r pairRun) per(n float64) float64 { return n / float64(r.pairs) }

// pairTable is the runs of every entrant, round by round.
type pairTable struct {
	goroutines int
	runs       map[string][]pairRun
	stuck      map[string]int // acquisitions of a free lock that did not return
}

// measurePairs lets all entrants take turns. A lone goroutine gets a new connection
// for each slice: rueidis serves it faster until it has seen two callers at once, of
// which one may be its own timer, and not after.
func measurePairs(ctx context.Context, b *bench, goroutines int) (pairTable, error) {
	table := pairTable{goroutines: goroutines, runs: map[string][]pairRun{}, stuck: map[string]int{}}
	var tracks []*track
	for _, e := range entrants() {
		t := &track{entrant: e, address: b.server.address, goroutines: goroutines}
		tracks = append(tracks, t)
		defer t.close()
		if _, err := table.run(ctx, b, t, b.plan.pairSlice/4); err != nil { // loads scripts, fills pools
			return table, err
		}
	}
	for round := range b.plan.pairRounds {
		for i := range tracks {
			// Each round begins with another one, so that no one always
			// follows the same predecessor's garbage.
			t := tracks[(i+round)%len(tracks)]
			run, err := table.run(ctx, b, t, b.plan.pairSlice)
			if err != nil {
				return table, err
			}
			table.runs[t.entrant.name] = append(table.runs[t.entrant.name], run)
			if goroutines == 1 {
				t.close()
			}
		}
	}
	return table, nil
}

// run is one slice of one entrant. One that gets stuck is opened anew and begins
// again, so that a rival's fault neither hangs the benchmark nor slows the rival.
func (table pairTable) run(ctx context.Context, b *bench, t *track, slice time.Duration) (run pairRun, err error) {
	const attempts = 5
	for range attempts {
		if err = t.open(ctx); err != nil {
			break
		}
		var stuck int
		if run, stuck, err = t.run(ctx, b.meter, slice); err != nil || stuck == 0 {
			break
		}
		table.stuck[t.entrant.name] += stuck
		if err = t.unstick(); err != nil {
			break
		}
		err = fmt.Errorf("%d of %d acquisitions of free locks did not return", stuck, t.goroutines)
	}
	if err != nil {
		return run, fmt.Errorf("%s, %d goroutines: %w", t.entrant.name, t.goroutines, err)
	}
	return run, nil
}

// track is one entrant with its workers.
type track struct {
	entrant    entrant
	address    string
	goroutines int

	contestant contestant // nil while it is not open
	wire       *wire
	workers    []worker
	finished   chan struct{} // closed when the workers of the latest slice have ended
}

// open opens the entrant unless it is open.
func (t *track) open(ctx context.Context) (err error) {
	if t.contestant != nil {
		return nil
	}
	t.wire = new(wire)
	if t.contestant, err = t.entrant.open(ctx, t.address, t.wire); err != nil {
		return err
	}
	t.workers = nil
	for range t.goroutines {
		// Never a name that was used before: it might be stuck.
		name := fmt.Sprintf("own:%d", ownNames.Add(1))
		t.workers = append(t.workers, t.contestant.Worker(name))
	}
	return nil
}

var ownNames atomic.Int64

func (t *track) close() {
	if t.contestant != nil {
		t.contestant.Close()
		t.contestant = nil
	}
}

// unstick closes the contestant, which is to end every acquisition.
func (t *track) unstick() error {
	t.close()
	select {
	case <-t.finished:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("acquisitions went on after it was closed")
	}
}

// run is one slice: every worker makes pairs until the time is up. It returns how
// many workers did not end then.
func (t *track) run(ctx context.Context, m *meter, slice time.Duration) (run pairRun, stuck int, err error) {
	runtime.GC() // nobody pays for somebody else's garbage
	workBefore, err := m.work(ctx)
	if err != nil {
		return run, 0, err
	}
	writesBefore := t.wire.writes.Load()
	if stuck, err = t.race(slice, &run); err != nil || stuck > 0 {
		return run, stuck, err
	}
	run.writes = t.wire.writes.Load() - writesBefore
	workAfter, err := m.work(ctx)
	run.request = workAfter.minus(workBefore)
	return run, 0, err
}

// race is the timed part.
func (t *track) race(slice time.Duration, run *pairRun) (stuck int, err error) {
	s := newSquad(t.workers)
	t.finished = s.finished
	overdue := time.NewTimer(slice + patience)
	defer overdue.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	began := time.Now()
	timer := time.AfterFunc(slice, func() { s.stop.Store(true) })
	defer timer.Stop()
	close(s.start)
	select {
	case <-s.finished:
	case <-overdue.C:
		return len(t.workers) - int(s.ended.Load()), nil
	}
	run.took = time.Since(began)
	run.cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)

	run.allocs = after.Mallocs - before.Mallocs
	run.bytes = after.TotalAlloc - before.TotalAlloc
	run.pairs = s.pairs.Load()
	if run.pairs == 0 && s.err == nil {
		return 0, fmt.Errorf("not one pair within %v", slice)
	}
	return 0, s.err
}

// squad is the goroutines of one slice.
type squad struct {
	start    chan struct{}
	stop     atomic.Bool
	pairs    atomic.Int64
	ended    atomic.Int64
	failure  sync.Once
	err      error         // the first one; once finished is closed
	finished chan struct{} // closed when all have ended
}

// newSquad returns with every goroutine waiting for the start.
func newSquad(workers []worker) *squad {
	s := &squad{start: make(chan struct{}), finished: make(chan struct{})}
	var ready, done sync.WaitGroup
	for _, w := range workers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-s.start
			n, err := pairUntil(&s.stop, w)
			s.pairs.Add(n)
			if err != nil {
				s.failure.Do(func() { s.err = err })
			}
			s.ended.Add(1)
		})
	}
	go func() {
		done.Wait()
		close(s.finished)
	}()
	ready.Wait()
	return s
}

func pairUntil(stop *atomic.Bool, w worker) (pairs int64, err error) {
	ctx := context.Background()
	for !stop.Load() {
		if err := w.Lock(ctx); err != nil {
			return pairs, fmt.Errorf("lock: %w", err)
		}
		if err := w.Unlock(ctx); err != nil {
			return pairs, fmt.Errorf("unlock: %w", err)
		}
		pairs++
	}
	return pairs, nil
}

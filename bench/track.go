package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// track is one entrant with its workers.
type track struct {
	entrant    entrant
	server     *server
	goroutines int
	shared     bool // all lock one name

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
	if t.contestant, err = t.entrant.open(ctx, t.server.address, t.wire); err != nil {
		return err
	}
	t.workers = nil
	var name string
	for range t.goroutines {
		if name == "" || !t.shared {
			// Never a name that was used before: it might be stuck.
			name = fmt.Sprintf("own:%d", ownNames.Add(1))
		}
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
	workBefore, err := t.work(ctx, m)
	if err != nil {
		return run, 0, err
	}
	writesBefore := t.wire.writes.Load()
	if stuck, err = t.race(slice, &run); err != nil || stuck > 0 {
		return run, stuck, err
	}
	run.writes = float64(t.wire.writes.Load() - writesBefore)
	workAfter, err := t.work(ctx, m)
	run.request = workAfter.minus(workBefore)
	return run, 0, err
}

// work returns what the server has done. Of an etcd only its processor time is known.
func (t *track) work(ctx context.Context, m *meter) (work, error) {
	if t.entrant.onEtcd {
		return work{cpu: t.server.cpuTime()}, nil
	}
	return m.work(ctx)
}

// race is the timed part.
func (t *track) race(slice time.Duration, run *pairRun) (stuck int, err error) {
	s := newSquad(t.workers)
	t.finished = s.finished
	overdue := time.NewTimer(slice + slice/4 + patience)
	defer overdue.Stop()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	close(s.start)
	s.count(slice/4, slice, run)
	select {
	case <-s.finished:
	case <-overdue.C:
		return len(t.workers) - int(s.ended.Load()), nil
	}
	run.cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)

	run.allocs = float64(after.Mallocs - before.Mallocs)
	run.bytes = float64(after.TotalAlloc - before.TotalAlloc)
	run.pairs, run.inside = s.pairs.Load(), s.inside.Load()
	return 0, s.err
}

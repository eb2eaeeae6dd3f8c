package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// track is a contestant with its workers, in a helper. It stays open for the next slice.
type track struct {
	name    string // of the order that it was opened for; empty while it is closed
	clients []client
	wire    *wire
	workers []worker
}

// openWith opens the contestant, unless it is open since an earlier slice of the same names.
func (t *track) openWith(ctx context.Context, open opener, o order) (err error) {
	if t.name == o.Name {
		return nil
	}
	t.close()
	t.wire = new(wire)
	if t.clients, err = o.open(ctx, open, t.wire); err != nil {
		return err
	}
	t.name = o.Name
	t.workers, err = o.workers(t.clients...)
	return err
}

func (t *track) close() {
	if t.name != "" {
		closeAll(t.clients)
		t.name = ""
	}
}

// run is one slice: every worker makes pairs until the time is up.
func (t *track) run(ctx context.Context, o order, ready ready) (report, error) {
	err := t.openWith(ctx, openByName(o.Contestant), o)
	if err != nil {
		return report{}, err
	}
	s, err := t.race(o, ready)
	return report{Slice: &s}, err
}

// phase is what becomes of a pair that is finished now.
type phase = int32

const (
	warmingUp phase = iota // it is not counted in the rate
	counting
	timeUp // and no other begins
)

// race is the timed part. If somebody does not end, the contestant is closed, which is to end every
// acquisition.
func (t *track) race(o order, ready ready) (s slice, err error) {
	var phase atomic.Int32
	var inside, pairs, ended atomic.Int64
	start, finished := make(chan struct{}), make(chan error, 1)
	var working sync.WaitGroup
	errs := make([]error, len(t.workers))
	for i, w := range t.workers {
		working.Go(func() {
			<-start
			n, in, err := w.pairs(&phase)
			pairs.Add(n)
			inside.Add(in)
			ended.Add(1)
			errs[i] = err
		})
	}
	go func() {
		working.Wait()
		finished <- errors.Join(errs...)
	}()
	runtime.GC() // nobody pays for what was before
	if _, err := ready(); err != nil {
		return s, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, writes := cpuTime(), t.wire.writes.Load()
	overdue := time.NewTimer(o.WarmUp + o.For + patience)
	defer overdue.Stop()
	close(start)
	time.Sleep(o.WarmUp)
	phase.Store(counting)
	began := time.Now()
	time.Sleep(o.For)
	phase.Store(timeUp)
	s.Window = time.Since(began)
	select {
	case err = <-finished:
	case <-overdue.C:
		s.Stuck = len(t.workers) - int(ended.Load())
		return s, t.unstick(finished)
	}
	s.CPU, s.Writes = cpuTime()-cpu, float64(t.wire.writes.Load()-writes)
	runtime.ReadMemStats(&after)
	s.Allocs, s.Bytes = float64(after.Mallocs-before.Mallocs), float64(after.TotalAlloc-before.TotalAlloc)
	s.Pairs, s.Inside = pairs.Load(), inside.Load()
	return s, err
}

// pairs makes pairs until the time is up, and returns how many, and how many counted.
func (w worker) pairs(phase *atomic.Int32) (pairs, inside int64, err error) {
	ctx := context.Background()
	for now := phase.Load(); now != timeUp; {
		if err := w.once(ctx); err != nil {
			return pairs, inside, err
		}
		pairs++
		if now = phase.Load(); now == counting {
			inside++
		}
	}
	return pairs, inside, nil
}

func (t *track) unstick(finished <-chan error) error {
	t.close()
	select {
	case <-finished:
		return nil
	case <-time.After(patience):
		return errors.New("acquisitions went on after the contestant was closed")
	}
}

// cpuTime is the processor time that this process has used. Unlike the time on the wall it hardly
// depends on what else the machine does.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // it has no errors for this question
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

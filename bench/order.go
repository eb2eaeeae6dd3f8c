package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// What a helper is told, what it does and what it reports.

type task string

const (
	taskPairs   task = "pairs"
	taskContend task = "contend"
	taskHold    task = "hold"
	taskWait    task = "wait"
	taskMemory  task = "memory"
	taskClients task = "clients"
)

// order is what a helper is to do.
type order struct {
	Task    task
	Address string
	Name    string // of the lock
	For     time.Duration
	WarmUp  time.Duration // taskPairs: before For. Otherwise what does not count, a part of For

	Contestant       string
	Process, Workers int
	Section          time.Duration // taskContend: for how long the lock is held each time
	Shared           bool          // taskPairs: all lock one name

	Locks int  // how many names the waiters wait for
	Holds int  // taskMemory: how many holds are measured before
	Held  int  // taskMemory: how many holds of another client the waiters wait for
	Serve bool // taskMemory: the other client releases them
}

// report is what came of it.
type report struct {
	Error   string  `json:",omitempty"`
	Holds   []hold  `json:",omitempty"`
	Writes  []mark  `json:",omitempty"` // at both ends of the window
	Slice   *slice  `json:",omitempty"`
	Figures figures `json:",omitempty"`
	// Memory is what a helper in Java says in place of Figures.
	Memory *struct{ Hold, Waiter float64 } `json:",omitempty"`
}

// helperWord is the argument that makes this program a helper.
const helperWord = "helper"

// ready says that nothing but the start is missing, and returns when that was.
type ready func() (time.Time, error)

// help is a helper's whole life. The report is written also of a failure.
func help(ctx context.Context, in io.Reader, out io.Writer) error {
	orders, reports := json.NewDecoder(in), json.NewEncoder(out)
	ready := func() (time.Time, error) {
		if err := reports.Encode(report{}); err != nil {
			return time.Time{}, err
		}
		var began int64
		err := orders.Decode(&began)
		return time.Unix(0, began), err
	}
	var kept track
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := o.carryOut(ctx, &kept, ready)
		if err != nil {
			r.Error = err.Error()
		}
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

// carryOut does what the order says.
func (o order) carryOut(ctx context.Context, kept *track, ready ready) (r report, err error) {
	switch o.Task {
	case taskPairs:
		return kept.run(ctx, o, ready)
	case taskClients:
		r.Figures, err = o.clients(ctx, ready)
		return r, err
	}
	wire := new(wire)
	c, err := openByName(ctx, o.Contestant, o.Address, wire)
	if err != nil {
		return r, err
	}
	defer c.close()
	switch o.Task {
	case taskContend:
		return o.contend(ctx, c, wire, ready)
	case taskHold:
		return r, o.hold(ctx, c, ready)
	case taskWait:
		return r, o.wait(ctx, c, ready)
	case taskMemory:
		r.Figures, err = o.memory(ctx, c, ready)
		return r, err
	}
	return r, fmt.Errorf("unknown task %q", o.Task)
}

// workers makes workers on the names of the order's locks.
func (o order) workers(c client, n int) ([]worker, error) {
	return makeWorkers(c, n, func(i int) string { return fmt.Sprintf("%s:%d", o.Name, i%o.Locks) })
}

func makeWorkers(c client, n int, name func(i int) string) (workers []worker, err error) {
	for i := 0; i < n && err == nil; i++ {
		var w worker
		w, err = c.worker(name(i))
		workers = append(workers, w)
	}
	return workers, err
}

// until waits for a moment.
func until(ctx context.Context, moment time.Time) error {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

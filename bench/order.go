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
	taskKeep    task = "keep"
)

// order is what a helper is to do.
type order struct {
	Task        task
	Contestant  string
	Address     string
	WarmUp, For time.Duration // what does not count, and then what does

	Process, Workers int
	Name             string
	Locks            int           // how many the workers lock: worker i locks number i modulo Locks
	Section          time.Duration // taskContend: for how long the lock is held each time
	Patience         time.Duration // taskContend: how much longer than usual a wait may last at the end
	Clients          int           // that share the workers; 0 for one
	Weigh            bool          // the marks say what is in use
}

// report is what came of it.
type report struct {
	Error   string  `json:",omitempty"`
	Holds   []hold  `json:",omitempty"`
	Marks   []mark  `json:",omitempty"` // before anything, and at both ends of the window
	Slice   *slice  `json:",omitempty"`
	Figures figures `json:",omitempty"`
}

// mark is what a process had written until a moment, and what it had in use.
type mark struct {
	Moment, Writes int64
	InUse          figures `json:",omitempty"`
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
	if o.Task == taskPairs {
		return kept.run(ctx, o, ready)
	}
	var clients []client
	defer func() { closeAll(clients) }()
	wire := new(wire)
	mark := func() {
		m := mark{Moment: time.Now().UnixNano(), Writes: wire.writes.Load()}
		if o.Weigh {
			m.InUse = inUse(clients)
		}
		r.Marks = append(r.Marks, m)
	}
	if o.Clients > 1 { // they count
		mark()
	}
	if clients, err = o.open(ctx, openByName(o.Contestant), wire); err != nil {
		return r, err
	}
	workers, err := o.workers(clients...)
	if err == nil && o.Weigh {
		err = clients[0].warmUp(ctx, o.Name+":first")
	}
	if err != nil {
		return r, err
	}
	if len(clients) == 1 {
		mark()
	}
	if o.Task == taskKeep {
		r.Figures, err = o.keep(ctx, workers, mark, ready)
	} else {
		r.Holds, err = o.contend(ctx, workers, mark, ready)
	}
	return r, err
}

// open connects the order's clients. Close them also after an error.
func (o order) open(ctx context.Context, open opener, wire *wire) ([]client, error) {
	clients := make([]client, max(o.Clients, 1))
	return clients, inParallel(len(clients), func(i int) (err error) {
		clients[i], err = open(ctx, o.Address, wire)
		return err
	})
}

func closeAll(clients []client) {
	for _, c := range clients {
		if c.close != nil {
			c.close()
		}
	}
}

// warmUp makes connections.
func (c client) warmUp(ctx context.Context, name string) error {
	w, err := c.worker(name)
	if err != nil {
		return err
	}
	return w.once(ctx)
}

// workers makes workers on the order's locks, which share the clients.
func (o order) workers(clients ...client) (workers []worker, err error) {
	for i := 0; i < o.Workers && err == nil; i++ {
		var w worker
		w, err = clients[i%len(clients)].worker(fmt.Sprintf("%s:%d", o.Name, i%o.Locks))
		workers = append(workers, w)
	}
	return workers, err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// What a helper is told, what it does and what it reports.

type task string

const (
	taskPairs    task = "pairs" // only of helpers in another language
	taskContend  task = "contend"
	taskPingPong task = "ping-pong"
	taskHold     task = "hold"
	taskWait     task = "wait"
	taskMemory   task = "memory"
)

// order is what a helper is to do.
type order struct {
	Task    task
	Address string
	Name    string // of the lock, or of the channel to listen on
	For     time.Duration
	WarmUp  time.Duration // taskPairs: before For. taskWait: until the waiters begin, a part of For

	Entrant          string
	Process, Workers int
	Locks            int
	Section          time.Duration // taskContend: for how long the lock is held each time

	Answer string // taskPingPong: the channel of the other
	Serve  bool
}

// report is what came of it.
type report struct {
	Error  string     `json:",omitempty"`
	Holds  []hold     `json:",omitempty"`
	Turns  []float64  `json:",omitempty"` // in nanoseconds
	Slice  *slice     `json:",omitempty"`
	Memory *footprint `json:",omitempty"`
}

// slice is what a slice of pairs came to in another process.
type slice struct {
	Inside, Pairs int64
	Window, CPU   time.Duration
}

// helperWord is the argument that makes this program a helper.
const helperWord = "helper"

func ownProgram() (string, error) { return os.Executable() }

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
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := o.carryOut(ctx, ready)
		if err != nil {
			r.Error = err.Error()
		}
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

// carryOut does what the order says. It calls ready when nothing but the start is
// missing, and learns from it when that was.
func (o order) carryOut(ctx context.Context, ready func() (time.Time, error)) (report, error) {
	if o.Task == taskPingPong {
		return o.pingPong(ctx, ready)
	}
	e, err := findEntrant(o.Entrant)
	if err != nil {
		return report{}, err
	}
	c, err := e.open(ctx, o.Address, new(wire))
	if err != nil {
		return report{}, err
	}
	defer c.Close()
	switch o.Task {
	case taskContend:
		return o.contend(ctx, c, ready)
	case taskHold:
		return report{}, o.hold(ctx, c, ready)
	case taskWait:
		return report{}, o.wait(ctx, c, ready)
	case taskMemory:
		return o.memory(ctx, c, ready)
	}
	return report{}, fmt.Errorf("unknown task %q", o.Task)
}

func (o order) contend(ctx context.Context, c contestant, ready func() (time.Time, error)) (report, error) {
	began, err := ready()
	if err != nil {
		return report{}, err
	}
	holds, err := contend(ctx, c, o, began.Add(o.For))
	return report{Holds: holds}, err
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// The benchmark starts itself again where it needs several processes. A helper
// reads its order, says when it is ready, and waits for the start, so that all begin
// together. Then it reports and ends. Each message is one line of JSON.

// helperWord is the argument that makes this program a helper.
const helperWord = "helper"

type task string

const (
	taskContend  task = "contend"
	taskPingPong task = "ping-pong"
)

// order is what a helper is to do.
type order struct {
	Task    task
	Address string
	Name    string // of the lock, or of the channel to listen on
	For     time.Duration

	Entrant          string // taskContend
	Process, Workers int

	Answer string // taskPingPong: the channel of the other
	Serve  bool
}

// report is what came of it.
type report struct {
	Error string `json:",omitempty"`
	Holds []hold
	Turns []float64 // in nanoseconds
}

// helper is a running one, as its parent sees it.
type helper struct {
	process *exec.Cmd
	orders  io.WriteCloser
	reports *bufio.Reader
}

// command runs one helper for each order, all at once, and returns when they began
// and what they report.
func command(ctx context.Context, orders []order) (began time.Time, reports []report, err error) {
	ctx, cancel := context.WithCancel(ctx)
	helpers := make([]*helper, 0, len(orders))
	defer func() {
		cancel() // ends those that have not ended
		for _, h := range helpers {
			_ = h.process.Wait()
		}
	}()
	for _, o := range orders {
		h, err := startHelper(ctx, o)
		if err != nil {
			return began, nil, err
		}
		helpers = append(helpers, h)
	}
	for _, h := range helpers { // ready
		if _, err := h.read(); err != nil {
			return began, nil, err
		}
	}
	began = time.Now()
	for _, h := range helpers {
		if err := h.orders.Close(); err != nil { // go
			return began, nil, err
		}
	}
	for _, h := range helpers {
		r, err := h.read()
		if err != nil {
			return began, nil, err
		}
		reports = append(reports, r)
	}
	return began, reports, nil
}

func startHelper(ctx context.Context, o order) (*helper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &helper{process: exec.CommandContext(ctx, self, helperWord)}
	h.process.Stderr = os.Stderr
	if h.orders, err = h.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.reports = bufio.NewReader(out)
	if err := h.process.Start(); err != nil {
		return nil, err
	}
	return h, json.NewEncoder(h.orders).Encode(o)
}

func (h *helper) read() (report, error) {
	line, err := h.reports.ReadBytes('\n')
	if err != nil {
		return report{}, fmt.Errorf("helper: %w", err)
	}
	var r report
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("helper: %w", err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("helper: %s", r.Error)
	}
	return r, nil
}

// help is a helper's whole life. The report is written also of a failure.
func help(ctx context.Context, in io.Reader, out io.Writer) error {
	orders := bufio.NewReader(in)
	line, err := orders.ReadBytes('\n')
	if err != nil {
		return err
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	reports := json.NewEncoder(out)
	r, err := o.carryOut(ctx, func() error {
		if err := reports.Encode(report{}); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, orders) // until the parent closes it
		return err
	})
	if err != nil {
		r.Error = err.Error()
	}
	return reports.Encode(r)
}

// carryOut does what the order says. It calls ready when nothing but the start is
// missing.
func (o order) carryOut(ctx context.Context, ready func() error) (report, error) {
	switch o.Task {
	case taskContend:
		return o.contend(ctx, ready)
	case taskPingPong:
		return o.pingPong(ctx, ready)
	}
	return report{}, fmt.Errorf("unknown task %q", o.Task)
}

func (o order) contend(ctx context.Context, ready func() error) (report, error) {
	e, err := findEntrant(o.Entrant)
	if err != nil {
		return report{}, err
	}
	c, err := e.open(ctx, o.Address, new(wire))
	if err != nil {
		return report{}, err
	}
	defer c.Close()
	if err := ready(); err != nil {
		return report{}, err
	}
	holds, err := contend(ctx, c, o.Name, o.Process, o.Workers, time.Now().Add(o.For))
	return report{Holds: holds}, err
}

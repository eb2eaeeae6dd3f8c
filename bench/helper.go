package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Where several processes are needed, or one in another language, the benchmark starts helpers: itself
// again, or a program in Java or Node. A helper reads its order, says when it is ready, and waits to be
// told the moment of the start, so that all begin and end together. Then it reports. Each message is one
// line of JSON. It takes orders until its input ends.

// helper is a running one, as its parent sees it.
type helper struct {
	process *exec.Cmd
	orders  io.WriteCloser
	reports *bufio.Reader
	stderr  bytes.Buffer // read it after the process has ended
}

func startHelper(process *exec.Cmd) (h *helper, err error) {
	h = &helper{process: process}
	process.Stderr = &h.stderr
	if h.orders, err = process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.reports = bufio.NewReader(out)
	return h, process.Start()
}

// end closes the helper's input, and kills it unless it ends by that.
func (h *helper) end() {
	_ = h.orders.Close()
	overdue := time.AfterFunc(patience, h.kill)
	defer overdue.Stop()
	_ = h.process.Wait()
}

func (h *helper) kill() { _ = h.process.Process.Kill() }

func (h *helper) write(message any) error { return json.NewEncoder(h.orders).Encode(message) }

func (h *helper) read() (report, error) {
	line, err := h.reports.ReadBytes('\n')
	if err != nil {
		_ = h.process.Wait()
		return report{}, fmt.Errorf("helper: %w; it wrote: %.2000s", err, h.stderr.String())
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

// helpers is helpers that begin together.
type helpers []*helper

// self returns n helpers of this program. They end when the context does.
func self(ctx context.Context, n int) (c helpers, err error) {
	program, err := ownProgram()
	for range n {
		var h *helper
		if err == nil {
			h, err = startHelper(exec.CommandContext(ctx, program, helperWord))
		}
		if err != nil {
			c.end()
			return nil, err
		}
		c = append(c, h)
	}
	return c, err
}

func (c helpers) end() {
	for _, h := range c {
		h.end()
	}
}

// prepare gives each helper its order, and returns when all are ready.
func (c helpers) prepare(orders []order) error {
	for i, h := range c {
		if err := h.write(orders[i]); err != nil {
			return err
		}
	}
	for _, h := range c {
		if _, err := h.read(); err != nil {
			return err
		}
	}
	return nil
}

// start tells all to begin, and returns when they did.
func (c helpers) start() (began time.Time, err error) {
	began = time.Now()
	for _, h := range c {
		if err := h.write(began.UnixNano()); err != nil {
			return began, err
		}
	}
	return began, nil
}

func (c helpers) reports() (reports []report, err error) {
	for _, h := range c {
		r, err := h.read()
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// perform does it all. Helpers that need much longer than their orders say are killed.
func (c helpers) perform(ctx context.Context, orders []order) (began time.Time, reports []report, err error) {
	defer c.limit(ctx, orders)()
	if err = c.prepare(orders); err != nil {
		return began, nil, err
	}
	if began, err = c.start(); err != nil {
		return began, nil, err
	}
	reports, err = c.reports()
	return began, reports, err
}

// grace is what a helper may need beyond the time that its order says.
const grace = 60 * time.Second

// limit kills the helpers when their time is up, until the function that it returns is called.
func (c helpers) limit(ctx context.Context, orders []order) (release func()) {
	var most time.Duration
	for _, o := range orders {
		most = max(most, o.WarmUp+o.For)
	}
	ctx, cancel := context.WithTimeout(ctx, most+grace)
	stop := context.AfterFunc(ctx, func() {
		for _, h := range c {
			h.kill()
		}
	})
	return func() {
		stop()
		cancel()
	}
}

// command lets new helpers of this program carry out orders.
func command(ctx context.Context, orders []order) (began time.Time, reports []report, err error) {
	c, err := self(ctx, len(orders))
	if err != nil {
		return began, nil, err
	}
	defer c.end()
	return c.perform(ctx, orders)
}

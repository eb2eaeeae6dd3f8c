package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// What is measured runs in helpers: this program again, or one in Java or Node. A helper reads its
// order, says when it is ready, and waits to be told the moment of the start, so that all begin and
// end together. Then it reports. Each message is one line of JSON. It takes orders until its input ends.

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

func (h *helper) read() (r report, err error) {
	line, err := h.reports.ReadBytes('\n')
	if err != nil {
		_ = h.process.Wait()
		return r, fmt.Errorf("helper: %w; it wrote: %.2000s", err, h.stderr.String())
	}
	if err = json.Unmarshal(line, &r); err != nil {
		err = fmt.Errorf("helper: %w in %.200q", err, line)
	} else if r.Error != "" {
		err = fmt.Errorf("helper: %s", r.Error)
	}
	return r, err
}

// helpers is helpers that begin together.
type helpers []*helper

func (all helpers) end() {
	for _, h := range all {
		h.end()
	}
}

// grace is what a helper may need beyond the time that its order says.
const grace = 3 * time.Minute

// perform gives each helper its order, has all begin when all are ready, and returns what they report.
// Once they are ready it calls one function, and once they have begun the other one; each may be nil.
// Helpers that need much longer than their orders say are killed.
func (all helpers) perform(ctx context.Context, orders []order, atReady func() error, atBegin func(began time.Time) error) ([]report, error) {
	var most time.Duration
	for _, o := range orders {
		most = max(most, o.WarmUp+o.For+o.Patience)
	}
	ctx, cancel := context.WithTimeout(ctx, most+grace)
	defer cancel()
	release := context.AfterFunc(ctx, func() {
		for _, h := range all {
			h.kill()
		}
	})
	defer release()
	for i, h := range all {
		if err := h.write(orders[i]); err != nil {
			return nil, err
		}
	}
	_, err := all.read()
	if err == nil && atReady != nil {
		err = atReady()
	}
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for _, h := range all {
		if err := h.write(began.UnixNano()); err != nil {
			return nil, err
		}
	}
	if atBegin != nil {
		err = atBegin(began)
	}
	reports, failed := all.read()
	if failed != nil {
		err = failed
	}
	return reports, err
}

// read returns a message of each, and the first failure.
func (all helpers) read() (reports []report, err error) {
	for _, h := range all {
		r, failed := h.read()
		if failed != nil && err == nil {
			err = failed
		}
		reports = append(reports, r)
	}
	return reports, err
}

// self starts this program as a helper.
func self() *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return exec.Command(program, helperWord)
}

// residents returns a helper for each of the contestants, which stay until they are dismissed.
func (b *bench) residents(ctx context.Context, who ...contestant) (chosen helpers, err error) {
	taken := map[string]int{}
	for _, c := range who {
		n := taken[c.name]
		taken[c.name]++
		if n == len(b.resident[c.name]) {
			command := self
			if c.foreign {
				command = b.foreign[c.name].command
			}
			h, err := startHelper(command())
			if err != nil {
				return nil, err
			}
			b.resident[c.name] = append(b.resident[c.name], h)
			if err := b.practise(ctx, c, h); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		chosen = append(chosen, b.resident[c.name][n])
	}
	return chosen, nil
}

// dismiss ends the helpers that are this program, or all of them.
func (b *bench) dismiss(all bool) {
	for name, some := range b.resident {
		if _, foreign := b.foreign[name]; all || !foreign {
			some.end()
			delete(b.resident, name)
		}
	}
}

// inFresh has new helpers carry out orders.
func inFresh(ctx context.Context, orders []order, atBegin func(began time.Time) error) ([]report, error) {
	var some helpers
	defer func() { some.end() }()
	for range orders {
		h, err := startHelper(self())
		if err != nil {
			return nil, err
		}
		some = append(some, h)
	}
	return some.perform(ctx, orders, nil, atBegin)
}

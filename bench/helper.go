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
	if err = json.Unmarshal(line, &r); err == nil && r.Error != "" {
		err = fmt.Errorf("helper: %s", r.Error)
	}
	return r, err
}

// helpers is helpers that begin together.
type helpers []*helper

// startHelpers adds helpers until there are n.
func (all *helpers) startHelpers(n int, command func() *exec.Cmd) error {
	for len(*all) < n {
		h, err := startHelper(command())
		if err != nil {
			return err
		}
		*all = append(*all, h)
	}
	return nil
}

func (all helpers) end() {
	for _, h := range all {
		h.end()
	}
}

// hooks are called while helpers work: once they are ready, and once they have been told to begin.
type hooks struct {
	ready func() error
	began func(at time.Time) error
}

// perform gives each helper its order, tells all to begin when all are ready, and returns when that
// was and what they report. Helpers that need much longer than their orders say are killed.
func (all helpers) perform(ctx context.Context, orders []order, hooks hooks) (began time.Time, reports []report, err error) {
	defer all.limit(ctx, orders)()
	for i, h := range all {
		if err := h.write(orders[i]); err != nil {
			return began, nil, err
		}
	}
	if _, err = all.read(); err == nil && hooks.ready != nil {
		err = hooks.ready()
	}
	if err != nil {
		return began, nil, err
	}
	began = time.Now()
	for _, h := range all {
		if err := h.write(began.UnixNano()); err != nil {
			return began, nil, err
		}
	}
	if hooks.began != nil {
		err = hooks.began(began)
	}
	reports, failed := all.read()
	if failed != nil {
		err = failed
	}
	return began, reports, err
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

// grace is what a helper may need beyond the time that its order says.
const grace = 3 * time.Minute

// limit kills the helpers when their time is up, until the function that it returns is called.
func (all helpers) limit(ctx context.Context, orders []order) (release func()) {
	var most time.Duration
	for _, o := range orders {
		most = max(most, o.WarmUp+o.For)
	}
	ctx, cancel := context.WithTimeout(ctx, most+grace)
	stop := context.AfterFunc(ctx, func() {
		for _, h := range all {
			h.kill()
		}
	})
	return func() {
		stop()
		cancel()
	}
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
		all := b.resident[c.name]
		before, command := len(all), self
		if c.foreign {
			command = b.foreign[c.name].command
		}
		err := all.startHelpers(n+1, command)
		if b.resident[c.name] = all; err != nil {
			return nil, err
		}
		if c.foreign {
			if err := b.practise(ctx, c, all[before:]); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		chosen = append(chosen, all[n])
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

// fresh returns n helpers of a contestant that nobody has used.
func (b *bench) fresh(c contestant, n int) (some helpers, err error) {
	command := self
	if c.foreign {
		command = b.foreign[c.name].small
	}
	if err = some.startHelpers(n, command); err != nil {
		some.end()
	}
	return some, err
}

package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

// mostLines is how many lines wait for a slow reader.
const mostLines = 1000

// lineTime is the time between two lines. Clients choose their names, and must not be able to
// fill a disk.
const lineTime = 10 * time.Millisecond

// relay passes lines on to a log whose reader may be slow, or gone. Write does not wait: a
// watchdog that waited for its log would renew nothing. If there is no room, relay drops lines
// and counts them.
type relay struct {
	lines   chan []byte
	ending  chan struct{} // closed when the rest is to be written at once
	drained chan struct{}

	mu      sync.Mutex
	closed  bool
	dropped int
}

// newRelay starts one. Format writes the line about those that were dropped.
func newRelay(out io.Writer, format func(out io.Writer) slog.Handler) *relay {
	r := &relay{lines: make(chan []byte, mostLines), ending: make(chan struct{}), drained: make(chan struct{})}
	own := slog.New(format(out))
	go func() {
		defer close(r.drained)
		pace := time.NewTicker(lineTime)
		defer pace.Stop()
		for line := range r.lines {
			if n := r.takeDropped(); n > 0 {
				own.Warn("nobody read the log: lines were dropped", "lines", n)
			}
			_, _ = out.Write(line)
			select {
			case <-pace.C:
			case <-r.ending:
			}
		}
	}()
	return r
}

// Write passes a line on. It does not block, and never fails.
func (r *relay) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return len(line), nil
	}
	select {
	case r.lines <- bytes.Clone(line):
	default:
		r.dropped++
	}
	return len(line), nil
}

func (r *relay) takeDropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.dropped
	r.dropped = 0
	return n
}

// close waits until all is written, for a second at most.
func (r *relay) close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.lines)
		close(r.ending)
	}
	r.mu.Unlock()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-r.drained:
	case <-limit.C:
	}
}

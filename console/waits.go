package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/script"
)

// aside is what is read beside the locks, as it was read last. It is read after
// a yield of the source, but for half of the time at most: a source of the application may yield often. A reading may be long, so the locks do not wait for it.
type aside[T any] struct {
	read  func(context.Context) ([]T, error) // nil: nothing is known
	every time.Duration
	start func(func()) // runs a function on a goroutine
	next  time.Time    // when it is read again; zero: it was not read yet
	ended chan func()  // has the end of a reading that is under way; nil if there is none
	all   []T
	err   error
}

// briefly is for how long the locks wait for what is read aside, so that both appear together.
const briefly = 200 * time.Millisecond

// again reads, if it is time, and waits for that until soon ends. The error is that of the last reading.
func (a *aside[T]) again(ctx, soon context.Context) error {
	if began := time.Now(); a.ended == nil && a.read != nil && !began.Before(a.next) {
		ended := make(chan func(), 1)
		a.ended = ended
		a.start(func() {
			all, err := []T(nil), errors.New("console: what reads aside has ended its goroutine")
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("console: what reads aside has panicked: %v", p)
				}
				ended <- func() {
					if a.err = err; err == nil {
						a.all = all
					}
					a.next, a.ended = time.Now().Add(max(a.every, time.Since(began))), nil
				}
			}()
			all, err = a.read(ctx)
		})
	}
	if a.ended == nil {
		return a.err
	}
	select {
	case end := <-a.ended:
		end()
	case <-soon.Done():
	}
	return a.err
}

// waitsRate is how many commands a second read the waits.
const waitsRate = 1000

// ReportedWaits returns what Options.Waits takes: the waits that protected clients report with their
// heartbeats, as package blocked reads them. It sends 1,000 commands a second at most. The function does not block for longer than its ctx. If
// the user has no right to read some of them, or there are too many, some are left out, and there is no error.
func ReportedWaits(d driver.Driver) func(context.Context) ([]Wait, error) {
	return func(ctx context.Context) ([]Wait, error) {
		graph, err := blocked.Read(ctx, d, blocked.Options{Rate: waitsRate})
		if script.Code(err) == "NOPERM" {
			err = nil
		}
		return waitsOf(graph), err
	}
}

// waitsOf has each waiter of a lock once: the graph has an edge for each holder that it waits for.
func waitsOf(graph blocked.Graph) []Wait {
	type place struct{ lock, owner string }
	seen, certain := make(map[place]bool), make(map[place]bool)
	for _, c := range graph.Cycles() {
		for _, e := range c.Edges {
			at := place{e.Lock, e.Waiter.Owner}
			certain[at] = certain[at] || c.Sure
		}
	}
	var waits []Wait
	for _, e := range graph.Edges {
		at := place{e.Lock, e.Waiter.Owner}
		if !seen[at] {
			seen[at] = true
			waits = append(waits, Wait{Lock: e.Lock, Owner: e.Waiter.Owner, Name: e.Waiter.Name, Under: e.Under, Certain: certain[at]})
		}
	}
	return waits
}

package console

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/blocked"
)

// waits are who waits for which lock, as it was read last. A source may yield after each message, so they
// are read more seldom. Among very many clients a reading is long, so the locks do not wait for it.
type waits struct {
	read  func(context.Context) ([]Wait, error) // nil: nothing is known
	every time.Duration
	aside func(func()) // runs a function on a goroutine
	at    time.Time
	ended chan func() // has the end of a reading that is under way; nil if there is none
	all   []Wait
	err   error
}

// briefly is for how long the locks wait for the waits, so that both appear together.
const briefly = 200 * time.Millisecond

// again reads them, if it is time. The error is that of the last reading.
func (w *waits) again(ctx context.Context) error {
	if w.ended == nil && w.read != nil && (w.at.IsZero() || time.Since(w.at) >= w.every) {
		ended := make(chan func(), 1)
		w.ended = ended
		w.aside(func() {
			all, err := w.read(ctx)
			ended <- func() {
				if w.err = err; err == nil {
					w.all = all
				}
				w.at, w.ended = time.Now(), nil
			}
		})
	}
	if w.ended == nil {
		return w.err
	}
	select {
	case end := <-w.ended:
		end()
	case <-time.After(briefly):
	}
	return w.err
}

// waitsRate is how many commands a second read the waits.
const waitsRate = 1000

// ReportedWaits returns what Options.Waits takes: the waits that protected clients report with their
// heartbeats, as package blocked reads them. It sends 1,000 commands a second at most. The function does not block for longer than its ctx. If
// the user has no right to read some of them, these are left out, and there is no error.
func ReportedWaits(d driver.Driver) func(context.Context) ([]Wait, error) {
	return func(ctx context.Context) ([]Wait, error) {
		graph, err := blocked.Read(ctx, d, blocked.Options{Rate: waitsRate})
		if refused, ok := errors.AsType[*driver.ServerError](err); ok && refused.Code() == "NOPERM" {
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

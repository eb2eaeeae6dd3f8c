package console

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/blocked"
)

// waits are who waits for which lock, as it was read last. A source may yield after each message, so they
// are read more seldom.
type waits struct {
	read  func(context.Context) ([]Wait, error) // nil: nothing is known
	every time.Duration
	at    time.Time
	all   []Wait
	err   error
}

// again reads them, if it is time. The error is that of the last reading.
func (w *waits) again(ctx context.Context) error {
	if w.read != nil && (w.at.IsZero() || time.Since(w.at) >= w.every) {
		var all []Wait
		if all, w.err = w.read(ctx); w.err == nil {
			w.all = all
		}
		w.at = time.Now()
	}
	return w.err
}

// ReportedWaits returns what Options.Waits takes: the waits that protected clients report with their
// heartbeats, as package blocked reads them. The function does not block for longer than its ctx. If
// the user has no right to read some of them, these are left out, and there is no error.
func ReportedWaits(d driver.Driver) func(context.Context) ([]Wait, error) {
	return func(ctx context.Context) ([]Wait, error) {
		graph, err := blocked.Read(ctx, d, blocked.Options{})
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

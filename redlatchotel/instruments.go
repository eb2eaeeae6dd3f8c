package redlatchotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clientstats"
)

// instruments measure events.
type instruments struct {
	waits, held, renewals, margins metric.Float64Histogram
	losses, late, forced           metric.Int64Counter
}

// newInstruments makes them.
func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs []error
	histogram := func(name, description string, bounds ...float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	i.waits = histogram("redlatch.wait.duration", "Time from the call of Lock to its return.",
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
	i.held = histogram("redlatch.hold.duration", "Time from the acquisition of a lock to its end.",
		.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600)
	i.renewals = histogram("redlatch.renewal.duration", "Time of a renewal, from the request to the reply.",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5)
	i.margins = histogram("redlatch.renewal.margin", "What was left of the lease when a renewal was confirmed.",
		0, .05, .1, .25, .5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 30, 60)
	i.losses = counter("redlatch.losses", "{lock}", "Locks lost without having been released.")
	i.late = counter("redlatch.renewals.late", "{renewal}", "Renewals that were confirmed after half of the lease had gone.")
	i.forced = counter("redlatch.forced_unlocks", "{lock}", "Locks that ForceUnlock of this process has freed.")
	return i, errors.Join(errs...)
}

// measure records an event.
func (t *Telemetry) measure(ctx context.Context, e redlatch.Event) {
	lock := append(t.options.Attributes[:len(t.options.Attributes):len(t.options.Attributes)], lockKind.String(string(e.LockKind)))
	if t.options.ByName != nil {
		lock = append(lock, text(lockName, t.options.ByName(e.Lock)))
	}
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(append(lock[:len(lock):len(lock)], more...)...)
	}
	if e.Loss != "" {
		t.losses.Add(ctx, 1, with(reasonKey.String(string(e.Loss))))
	}
	switch e.Kind {
	case redlatch.EventAcquired, redlatch.EventNotAcquired:
		more := []attribute.KeyValue{databaseKey.String("redis"), operationKey.String("lock"), outcomeKey.String(clientstats.Outcome(e.Err))}
		if kind := errorType(e.Err); kind != "" {
			more = append(more, errorKey.String(kind))
		}
		t.waits.Record(ctx, e.Took.Seconds(), with(more...))
	case redlatch.EventReleased, redlatch.EventDetached, redlatch.EventClosed, redlatch.EventLost:
		t.held.Record(ctx, e.Took.Seconds(), with(endKey.String(clientstats.End(e))))
	case redlatch.EventRenewed:
		request := with(databaseKey.String("redis"), operationKey.String("renew"))
		t.renewals.Record(ctx, e.Took.Seconds(), request)
		t.margins.Record(ctx, max(e.Left.Seconds(), 0), request)
		if e.Late {
			t.late.Add(ctx, 1, with())
		}
	case redlatch.EventForced:
		t.forced.Add(ctx, 1, with())
	}
}

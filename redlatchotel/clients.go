package redlatchotel

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clientstats"
)

// stat is an instrument that is read from the Stats.
type stat struct {
	name, unit, description string
	value                   func(s redlatch.Stats) int64
	total                   bool
}

var stats = []stat{
	{"redlatch.holds", "{lock}", "Locks held now, counted once for each owner.",
		func(s redlatch.Stats) int64 { return int64(s.Holds) }, false},
	{"redlatch.holds.protected", "{lock}", "Locks held now that a living watchdog renews while this process is paused.",
		func(s redlatch.Stats) int64 { return int64(s.Protected) }, false},
	{"redlatch.waiters", "{goroutine}", "Goroutines that wait for a lock now.",
		func(s redlatch.Stats) int64 { return int64(s.Waiters) }, false},
	{"redlatch.subscriptions", "{channel}", "Channels subscribed now.",
		func(s redlatch.Stats) int64 { return int64(s.Subscriptions) }, false},
	{"redlatch.renewals.failed", "{renewal}", "Renewals that got no reply, one for each lease.",
		func(s redlatch.Stats) int64 { return s.FailedRenewals }, true},
	{"redlatch.rescued", "{lock}", "Locks that a watchdog kept through a pause of this process.",
		func(s redlatch.Stats) int64 { return s.Rescued }, true},
}

// observers numbers the observers of this process.
var observers atomic.Int64

// export has a meter ask for the Stats of clients. The SDK adds up what several callbacks observe of a counter, also
// of one that goes up and down. Of a gauge it keeps the last value, so each observer has gauges of its own.
func export(c *clientstats.Clients, m metric.Meter, own []attribute.KeyValue) error {
	instruments := make([]metric.Int64Observable, len(stats))
	var all []metric.Observable
	var errs []error
	add := func(o metric.Observable, err error) { all, errs = append(all, o), append(errs, err) }
	for i, s := range stats {
		var err error
		if s.total {
			instruments[i], err = m.Int64ObservableCounter(s.name, metric.WithUnit(s.unit), metric.WithDescription(s.description))
		} else {
			instruments[i], err = m.Int64ObservableUpDownCounter(s.name, metric.WithUnit(s.unit), metric.WithDescription(s.description))
		}
		add(instruments[i], err)
	}
	watchdogs, err := m.Int64ObservableGauge("redlatch.watchdogs", metric.WithUnit("{watchdog}"),
		metric.WithDescription("Watchdogs alive at the last heartbeat; of several clients, the fewest."))
	add(watchdogs, err)
	oldest, err := m.Float64ObservableGauge("redlatch.hold.oldest", metric.WithUnit("s"),
		metric.WithDescription("For how long the oldest hold has been held."))
	add(oldest, err)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	attributes := metric.WithAttributes(own...)
	own = append(own[:len(own):len(own)], observerKey.Int64(observers.Add(1)))
	gauge := metric.WithAttributes(own...)
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := c.Totals()
		for i, s := range stats {
			o.ObserveInt64(instruments[i], s.value(now.Stats), attributes)
		}
		if now.Guarded {
			o.ObserveInt64(watchdogs, int64(now.Watchdogs), gauge)
		}
		for kind, age := range now.Oldest {
			o.ObserveFloat64(oldest, age.Seconds(), gauge, metric.WithAttributes(lockKind.String(string(kind))))
		}
		return nil
	}, all...)
	return err
}

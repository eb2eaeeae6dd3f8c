package redlatchotel

import (
	"context"
	"errors"

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
	{"redlatch.watchdogs", "{watchdog}", "Watchdogs alive at the last heartbeat; of several clients, the fewest.",
		func(s redlatch.Stats) int64 { return int64(s.Watchdogs) }, false},
	{"redlatch.renewals.failed", "{renewal}", "Renewals that got no reply, one for each lease.",
		func(s redlatch.Stats) int64 { return s.FailedRenewals }, true},
	{"redlatch.rescued", "{lock}", "Locks that a watchdog kept through a pause of this process.",
		func(s redlatch.Stats) int64 { return s.Rescued }, true},
}

// export has a meter ask for the Stats of clients.
func export(c *clientstats.Clients, m metric.Meter, attributes metric.MeasurementOption) error {
	instruments := make([]metric.Int64Observable, len(stats))
	all := make([]metric.Observable, len(stats))
	var errs []error
	for i, s := range stats {
		var err error
		if s.total {
			instruments[i], err = m.Int64ObservableCounter(s.name, metric.WithUnit(s.unit), metric.WithDescription(s.description))
		} else {
			instruments[i], err = m.Int64ObservableGauge(s.name, metric.WithUnit(s.unit), metric.WithDescription(s.description))
		}
		all[i], errs = instruments[i], append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := c.Totals()
		for i, s := range stats {
			o.ObserveInt64(instruments[i], s.value(now), attributes)
		}
		return nil
	}, all...)
	return err
}

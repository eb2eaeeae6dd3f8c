package redlatchprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlatch/redlatch"
)

// Watch exports the Stats of a client, until it is closed. Those of several clients are added up. The gauges are zero
// without it.
func (m *Metrics) Watch(c *redlatch.Client) { m.clients.Add(c) }

// stat is a metric that is read from the Stats.
type stat struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(s redlatch.Stats) float64
}

func newStat(kind prometheus.ValueType, name, help string, value func(s redlatch.Stats) float64) stat {
	return stat{prometheus.NewDesc("redlatch_"+name, help, nil, nil), kind, value}
}

var stats = []stat{
	newStat(prometheus.GaugeValue, "holds", "Locks held now, counted once for each owner.",
		func(s redlatch.Stats) float64 { return float64(s.Holds) }),
	newStat(prometheus.GaugeValue, "protected_holds", "Locks held now that a living watchdog renews while this process is paused.",
		func(s redlatch.Stats) float64 { return float64(s.Protected) }),
	newStat(prometheus.GaugeValue, "waiters", "Goroutines that wait for a lock now.",
		func(s redlatch.Stats) float64 { return float64(s.Waiters) }),
	newStat(prometheus.GaugeValue, "subscriptions", "Channels subscribed now.",
		func(s redlatch.Stats) float64 { return float64(s.Subscriptions) }),
	newStat(prometheus.GaugeValue, "watchdogs", "Watchdogs alive at the last heartbeat; of several clients, the fewest.",
		func(s redlatch.Stats) float64 { return float64(s.Watchdogs) }),
	newStat(prometheus.CounterValue, "failed_renewals_total", "Renewals that got no reply, one for each lease.",
		func(s redlatch.Stats) float64 { return float64(s.FailedRenewals) }),
	newStat(prometheus.CounterValue, "rescued_total", "Locks that a watchdog kept through a pause of this process.",
		func(s redlatch.Stats) float64 { return float64(s.Rescued) }),
}

// oldest is the age of the oldest hold.
var oldest = prometheus.NewDesc("redlatch_oldest_hold_seconds", "For how long the oldest hold has been held.", []string{"kind"}, nil)

// vectors are the metrics that count events.
func (m *Metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.waits, m.holds, m.renewals, m.margins, m.losses, m.late, m.forced}
}

// Describe and Collect make it a prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(to)
	}
	for _, s := range stats {
		to <- s.desc
	}
	to <- oldest
}

// Collect sends nothing to Redis.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		for _, metric := range metricsOf(v) {
			to <- metric
		}
	}
	now := m.clients.Totals()
	for _, s := range stats {
		to <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(now.Stats))
	}
	for _, kind := range kinds {
		to <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, now.Oldest[kind].Seconds(), string(kind))
	}
}

// metricsOf returns the metrics of a vector. The vector is locked while it sends them, and a reader of the exporter
// may stop reading. So all of them are collected first. An event of a lock then does not wait for that reader.
func metricsOf(v prometheus.Collector) (all []prometheus.Metric) {
	sent := make(chan prometheus.Metric)
	go func() {
		defer close(sent)
		v.Collect(sent)
	}()
	for metric := range sent {
		all = append(all, metric)
	}
	return all
}

package watchdog

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics exports the Stats of a watchdog to Prometheus.
type metrics struct{ stats func() Stats }

// metric is one number of the Stats.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	label string // the value of its label, "" if it has none
	value func(s Stats) float64
}

func gauge(name, help string, value func(s Stats) float64) metric {
	return metric{describe(name, help), prometheus.GaugeValue, "", value}
}

func counter(name, help string, value func(s Stats) int64) metric {
	return metric{describe(name, help), prometheus.CounterValue, "", asFloat(value)}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("redlatch_watchdog_"+name, help, labels, nil)
}

func asFloat(value func(s Stats) int64) func(s Stats) float64 {
	return func(s Stats) float64 { return float64(value(s)) }
}

var removed = describe("removed_sessions_total", "Sessions removed, by reason.", "reason")

var metricsShown = []metric{
	gauge("last_look_age_seconds", "Time since the last look that was answered; before the first, since the start.", Stats.age),
	gauge("alive", "Watchdogs alive at the last look, this one included.", func(s Stats) float64 { return float64(s.Watchdogs) }),
	gauge("stalled_sessions", "Clients whose heartbeat was overdue at the last look.", func(s Stats) float64 { return float64(s.Stalled) }),
	gauge("served_sessions", "Of these, those that this watchdog serves.", func(s Stats) float64 { return float64(s.Serving) }),
	counter("looks_total", "Looks that were answered.", func(s Stats) int64 { return s.Looks }),
	counter("failures_total", "Requests that were refused or not answered.", func(s Stats) int64 { return s.Failures }),
	counter("renewals_total", "Leases extended.", func(s Stats) int64 { return s.Renewals }),
	counter("gone_holds_total", "Holds that were not there any more.", func(s Stats) int64 { return s.Gone }),
	counter("skipped_total", "Entries and names out of bounds or forbidden, counted at each visit.", func(s Stats) int64 { return s.Skipped }),
	{removed, prometheus.CounterValue, "dead", asFloat(func(s Stats) int64 { return s.Dead })},
	{removed, prometheus.CounterValue, "paused too long", asFloat(func(s Stats) int64 { return s.LetGo })},
}

func (s Stats) age() float64 {
	since := s.LastLook
	if since.IsZero() {
		since = s.Started
	}
	return time.Since(since).Seconds()
}

// Describe and Collect make it a prometheus.Collector.
func (m metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

func (m metrics) Collect(to chan<- prometheus.Metric) {
	stats := m.stats()
	for _, one := range metricsShown {
		var labels []string
		if one.label != "" {
			labels = []string{one.label}
		}
		to <- prometheus.MustNewConstMetric(one.desc, one.kind, one.value(stats), labels...)
	}
}

// handler serves these metrics, without those of the Go runtime and the process.
func (m metrics) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

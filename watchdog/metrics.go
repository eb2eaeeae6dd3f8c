package watchdog

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics exports the Stats of a watchdog to Prometheus.
type metrics struct{ stats func() Stats }

// Describe and Collect make it a prometheus.Collector.
func (m metrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

func (m metrics) Collect(to chan<- prometheus.Metric) {
	s := m.stats()
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	show := func(kind prometheus.ValueType, name, help string, value float64, labels prometheus.Labels) {
		desc := prometheus.NewDesc("redlatch_watchdog_"+name, help, nil, labels)
		to <- prometheus.MustNewConstMetric(desc, kind, value)
	}
	show(gauge, "last_look_age_seconds", "Time since the last look that was answered; before the first, since the start.", s.age(), nil)
	show(gauge, "alive", "Watchdogs alive at the last look, this one included.", float64(s.Watchdogs), nil)
	show(gauge, "stalled_sessions", "Clients whose heartbeat was overdue at the last look.", float64(s.Stalled), nil)
	show(gauge, "served_sessions", "Of these, those that this watchdog serves.", float64(s.Serving), nil)
	show(counter, "looks_total", "Looks that were answered.", float64(s.Looks), nil)
	show(counter, "failures_total", "Requests that were refused or not answered.", float64(s.Failures), nil)
	show(counter, "renewals_total", "Leases extended.", float64(s.Renewals), nil)
	show(counter, "gone_holds_total", "Holds that were not there any more.", float64(s.Gone), nil)
	show(counter, "skipped_total", "Entries and names out of bounds or forbidden, counted at each visit.", float64(s.Skipped), nil)
	const removed, why = "removed_sessions_total", "Sessions removed, by reason."
	show(counter, removed, why, float64(s.Dead), prometheus.Labels{"reason": "dead"})
	show(counter, removed, why, float64(s.LetGo), prometheus.Labels{"reason": "paused too long"})
}

func (s Stats) age() float64 {
	since := s.LastLook
	if since.IsZero() {
		since = s.Started
	}
	return time.Since(since).Seconds()
}

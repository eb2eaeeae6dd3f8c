package redlatchprom

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlatch/redlatch/watchdog"
)

// Watchdog exports the Stats of a watchdog that runs in this program:
//
//	prometheus.MustRegister(redlatchprom.Watchdog(w.Stats))
//
// They are the metrics that watchdog.Handler serves. It sends nothing to Redis.
func Watchdog(stats func() watchdog.Stats) prometheus.Collector { return watchdogStats(stats) }

// watchdogStats is a prometheus.Collector.
type watchdogStats func() watchdog.Stats

// Describe is called before there are Stats; their names do not depend on them.
func (w watchdogStats) Describe(to chan<- *prometheus.Desc) {
	described := map[string]bool{}
	for _, m := range (watchdog.Stats{}).Metrics() {
		if !described[m.Name] {
			to <- describe(m)
			described[m.Name] = true
		}
	}
}

// Collect sends nothing to Redis. A registry calls it on a goroutine of its own, where a panic would end the process.
// So a panic, such as that of the Stats of a nil watchdog, becomes an error of the scrape.
func (w watchdogStats) Collect(to chan<- prometheus.Metric) {
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("redlatchprom: the Stats of the watchdog panicked: %v", p)
			to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
	}()
	for _, m := range w().Metrics() {
		kind := prometheus.GaugeValue
		if m.Total {
			kind = prometheus.CounterValue
		}
		var reason []string
		if m.Reason != "" {
			reason = []string{m.Reason}
		}
		to <- prometheus.MustNewConstMetric(describe(m), kind, m.Value, reason...)
	}
}

func describe(m watchdog.Metric) *prometheus.Desc {
	var labels []string
	if m.Reason != "" {
		labels = []string{"reason"}
	}
	return prometheus.NewDesc(m.Name, m.Help, labels, nil)
}

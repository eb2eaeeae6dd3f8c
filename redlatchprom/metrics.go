package redlatchprom

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/clientstats"
)

// Options change what is exported. The zero value is ready to use.
type Options struct {
	// ByName adds the label lock. It returns the value of the label for the name of a lock, such
	// as "order" for "order:4711". Default: there is no such label.
	ByName func(lock string) string
	// MaxNames bounds the values of the label lock. Further ones count as "(other)". Default: 100.
	MaxNames int
}

// Metrics is an observer of any number of clients, and a collector for one registry. It is safe for
// concurrent use.
type Metrics struct {
	names *names // nil without the label

	waits, holds, renewals, margins *prometheus.HistogramVec
	losses, late, forced            *prometheus.CounterVec

	clients clientstats.Clients
}

var (
	_ redlatch.Observer    = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)

var kinds = []redlatch.LockKind{redlatch.KindMutex, redlatch.KindFair, redlatch.KindRead, redlatch.KindWrite, redlatch.KindPermit}

// New returns metrics to be registered, and to be the observer of clients.
func New(o Options) *Metrics {
	m := &Metrics{names: newNames(o)}
	m.waits = m.histogram("wait_duration_seconds", "Time from the call of Lock to its return.", "outcome",
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
	m.holds = m.histogram("hold_duration_seconds", "Time from the acquisition of a lock to its end.", "end",
		.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600)
	m.renewals = m.histogram("renewal_duration_seconds", "Time of a renewal, from the request to the reply.", "",
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5)
	m.margins = m.histogram("renewal_margin_seconds", "What was left of the lease when a renewal was confirmed.", "",
		0, .05, .1, .25, .5, 1, 2.5, 5, 7.5, 10, 12.5, 15, 17.5, 20, 30, 60)
	m.losses = m.counter("losses_total", "Locks lost without having been released.", "reason")
	m.late = m.counter("late_renewals_total", "Renewals that were confirmed after half of the lease had gone.", "")
	m.forced = m.counter("forced_unlocks_total", "Locks that ForceUnlock of this process has freed.", "")
	if m.names == nil {
		for _, kind := range kinds {
			m.begin([]string{string(kind)})
		}
	}
	return m
}

// histogram makes a histogram with the label kind, one more label if it is not empty, and the label
// of names.
func (m *Metrics) histogram(name, help, label string, buckets ...float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "redlatch", Name: name, Help: help, Buckets: buckets}, m.labels(label))
}

func (m *Metrics) counter(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "redlatch", Name: name, Help: help}, m.labels(label))
}

func (m *Metrics) labels(more string) []string {
	labels := []string{"kind"}
	if m.names != nil {
		labels = append(labels, "lock")
	}
	if more != "" {
		labels = append(labels, more)
	}
	return labels
}

// begin has the counters of a lock begin at zero. The increase to one would not show otherwise.
func (m *Metrics) begin(lock []string) {
	for _, reason := range []redlatch.Loss{redlatch.LossExpired, redlatch.LossEnded, redlatch.LossGone} {
		m.losses.WithLabelValues(with(lock, string(reason))...)
	}
	m.late.WithLabelValues(lock...)
	m.forced.WithLabelValues(lock...)
}

// Observe takes note of an event. It does not block.
func (m *Metrics) Observe(_ context.Context, e redlatch.Event) {
	lock := []string{string(e.LockKind)}
	if m.names != nil {
		lock = append(lock, m.names.label(e.Lock))
		m.begin(lock)
	}
	if e.Loss != "" {
		m.losses.WithLabelValues(with(lock, string(e.Loss))...).Inc()
	}
	switch e.Kind {
	case redlatch.EventAcquired, redlatch.EventNotAcquired:
		m.waits.WithLabelValues(with(lock, clientstats.Outcome(e.Err))...).Observe(e.Took.Seconds())
	case redlatch.EventReleased, redlatch.EventDetached, redlatch.EventClosed, redlatch.EventLost:
		m.holds.WithLabelValues(with(lock, clientstats.End(e))...).Observe(e.Took.Seconds())
	case redlatch.EventRenewed:
		m.renewals.WithLabelValues(lock...).Observe(e.Took.Seconds())
		m.margins.WithLabelValues(lock...).Observe(max(e.Left.Seconds(), 0)) // the sum must not fall
		if e.Late {
			m.late.WithLabelValues(lock...).Inc()
		}
	case redlatch.EventForced:
		m.forced.WithLabelValues(lock...).Inc()
	}
}

// with is the labels of a lock and one more value.
func with(lock []string, value string) []string { return append(lock[:len(lock):len(lock)], value) }

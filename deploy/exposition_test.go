// Package deploy_test checks the dashboard, the alerts and the manifests of this folder against what
// the library and the watchdog export. It is a module of its own: the parsers of Prometheus and
// Kubernetes are needed by nobody else.
package deploy_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/redlatchprom"
	"github.com/redlatch/redlatch/watchdog"
)

// service serves the metrics of a client that has done one of everything, and of a watchdog.
func service(t *testing.T) http.Handler {
	t.Helper()
	metrics := redlatchprom.New(redlatchprom.Options{})
	for _, e := range []redlatch.Event{
		{Kind: redlatch.EventAcquired}, {Kind: redlatch.EventReleased}, {Kind: redlatch.EventRenewed, Late: true},
		{Kind: redlatch.EventLost, Loss: redlatch.LossGone}, {Kind: redlatch.EventForced},
		{Kind: redlatch.EventNotAcquired, Err: redlatch.ErrUnknownOutcome}, {Kind: redlatch.EventNotAcquired, Err: redlatch.ErrNotReplicated},
		{Kind: redlatch.EventNotAcquired, Err: context.Canceled},
	} {
		e.LockKind, e.Took = redlatch.KindMutex, time.Second
		metrics.Observe(t.Context(), e)
	}
	client, err := redlatch.Open(t.Context(), "memory://", redlatch.Config{Observer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	metrics.Watch(client)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/watchdog/metrics", http.StripPrefix("/watchdog", watchdog.Handler(func() watchdog.Stats { return watchdog.Stats{Started: time.Now()} })))
	return mux
}

// series are the labels of each name that is exported, with the values of each label.
type series map[string]map[string][]string

// exported reads what the service and the watchdog export.
func exported(t *testing.T) series {
	t.Helper()
	all := make(series)
	for _, path := range []string{"/metrics", "/watchdog/metrics"} {
		out := httptest.NewRecorder()
		service(t).ServeHTTP(out, httptest.NewRequest("GET", path, nil))
		families, err := parseText(out.Body)
		if err != nil || len(families) < 8 {
			t.Fatalf("%s has %d metrics: %v", path, len(families), err)
		}
		for name, family := range families {
			all.add(name, family)
		}
	}
	return all
}

// add takes in one metric, a histogram as the series that it consists of.
func (s series) add(name string, family *dto.MetricFamily) {
	names := []string{name}
	if family.GetType() == dto.MetricType_HISTOGRAM {
		names = []string{name + "_bucket", name + "_sum", name + "_count"}
	}
	for _, one := range names {
		labels := map[string][]string{"job": nil, "instance": nil} // which Prometheus adds
		if strings.HasSuffix(one, "_bucket") {
			labels["le"] = nil
		}
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = append(labels[pair.GetName()], pair.GetValue())
			}
		}
		s[one] = labels
	}
}

// names are all names, sorted.
func (s series) names() []string { return slices.Sorted(maps.Keys(s)) }

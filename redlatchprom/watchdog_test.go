package redlatchprom_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redlatch/redlatch/redlatchprom"
	"github.com/redlatch/redlatch/watchdog"
)

// Goal: a watchdog exports the same metrics by its own handler, which is written by hand, and by a
// registry of the application. Method: compare both texts, in fake time, since one number is an age.
func TestAWatchdogExportsTheSameEitherWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stats := watchdog.Stats{
			Watchdogs: 3, Stalled: 5, Serving: 2, Looks: 12345678, Failures: 4, Renewals: 1e15, Gone: 6, Dead: 7, LetGo: 8, Skipped: 9, Late: 1500 * time.Millisecond, LateVisits: 10,
			Started: time.Now().Add(-time.Hour), LastLook: time.Now().Add(-1500 * time.Millisecond),
		}
		read := func() watchdog.Stats { return stats }
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(redlatchprom.Watchdog(read))
		theirs, ours := httptest.NewRecorder(), httptest.NewRecorder()
		request := httptest.NewRequest("GET", "/metrics", nil)
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(theirs, request)
		watchdog.Handler(read).ServeHTTP(ours, request)
		if theirs.Code != 200 || ours.Code != 200 {
			t.Fatalf("%d and %d: %s", theirs.Code, ours.Code, theirs.Body)
		}
		want, got := sortedLines(theirs), sortedLines(ours)
		if !slices.Equal(want, got) {
			t.Errorf("by a registry:\n%s\nby the handler:\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		kind, _, _ := strings.Cut(theirs.Header().Get("Content-Type"), "; escaping")
		if kind != ours.Header().Get("Content-Type") {
			t.Errorf("the content is %q, and %q by the handler", kind, ours.Header().Get("Content-Type"))
		}
	})
}

// sortedLines are the lines of an answer, in order. A registry writes large numbers with an exponent.
func sortedLines(of *httptest.ResponseRecorder) []string {
	lines := strings.Split(strings.NewReplacer("1.2345678e+07", "12345678", "1e+15", "1000000000000000").Replace(of.Body.String()), "\n")
	slices.Sort(lines)
	return lines
}

// Goal: a watchdog that is nil is an error of the scrape, and no panic.
func TestANilWatchdogIsAnErrorOfTheScrape(t *testing.T) {
	for _, stats := range []func() watchdog.Stats{nil, (*watchdog.Watchdog)(nil).Stats} {
		registry := prometheus.NewRegistry()
		registry.MustRegister(redlatchprom.Watchdog(stats))
		if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "watchdog panicked") {
			t.Error("the error is", err)
		}
	}
}

package watchdog_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/watchdog"
)

// get asks a watchdog by HTTP.
func get(w *watchdog.Watchdog, path string) (code int, body string) {
	out := httptest.NewRecorder()
	w.Handler().ServeHTTP(out, httptest.NewRequest("GET", path, nil))
	return out.Code, out.Body.String()
}

func TestHealthAndReadinessTellApartWhoLivesAndWhoCanWork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	idle := redistest.Must(watchdog.New(d, watchdog.Config{}))
	if code, body := get(idle, "/readyz"); code != 503 || !strings.Contains(body, "no look") {
		t.Errorf("before the first look /readyz says %d %q", code, body)
	}
	w := run(t, d, watchdog.Config{}).Watchdog
	ready := func() bool { code, _ := get(w, "/readyz"); return code == 200 }
	eventually(t, ready, "it is ready")
	server.Freeze()
	eventually(t, func() bool { return !ready() }, "it is not ready while Redis hangs")
	if code, _ := get(w, "/healthz"); code != 200 {
		t.Errorf("while Redis hangs /healthz says %d", code)
	}
	server.Thaw()
	eventually(t, ready, "it is ready again")
	if w.Stats().Failures == 0 {
		t.Error("no failure was counted")
	}
}

func TestMetricsAreInTheFormatOfPrometheus(t *testing.T) {
	t.Parallel()
	d := connect(t, redistest.Start(t).Addr())
	c, dead := newClient(t, d), newClient(t, d)
	c.hold("job", time.Minute)
	c.heartbeat()
	dead.die()
	dead.heartbeat()
	w := run(t, d, watchdog.Config{}).Watchdog
	eventually(t, func() bool { s := w.Stats(); return s.Dead == 1 && s.Serving == 1 && s.Renewals == 1 }, "it has worked")
	code, body := get(w, "/metrics")
	if code != 200 {
		t.Fatalf("/metrics says %d", code)
	}
	for _, line := range []string{
		"redlatch_watchdog_alive 1", "redlatch_watchdog_stalled_sessions 1", "redlatch_watchdog_served_sessions 1",
		"redlatch_watchdog_renewals_total 1", "redlatch_watchdog_failures_total 0", "redlatch_watchdog_gone_holds_total 0",
		`redlatch_watchdog_removed_sessions_total{reason="dead"} 1`,
		`redlatch_watchdog_removed_sessions_total{reason="paused too long"} 0`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, body)
		}
	}
	format := regexp.MustCompile(`^(# HELP \w+ .+|# TYPE \w+ (counter|gauge)|\w+(\{\w+="[^"]*"\})? -?\d+(\.\d+)?)$`)
	for line := range strings.Lines(body) {
		if !format.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("the line %q is in no known format", line)
		}
	}
}

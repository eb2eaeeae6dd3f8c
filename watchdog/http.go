package watchdog

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// readyFor is how old the last look may be while a watchdog counts as ready: many looks,
// and less than any orchestrator waits before it acts.
const readyFor = 3 * time.Second

// Handler serves what a machine asks of a service:
//
//	/healthz   200 while the process runs
//	/readyz    200 while looks are answered, 503 when the last one is older than 3 s
//	/metrics   Stats, in the text format of Prometheus
//
// It never blocks, and asks Redis nothing.
func (w *Watchdog) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, "ok") })
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if why := w.Stats().unready(time.Now()); why != "" {
			http.Error(out, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(out, "ok")
	})
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(out, w.Stats().metrics(time.Now()))
	})
	return mux
}

// unready says why the watchdog cannot do its work, or nothing.
func (s Stats) unready(now time.Time) string {
	switch age := now.Sub(s.LastLook); {
	case s.LastLook.IsZero():
		return "no look has been answered yet"
	case age > readyFor:
		return fmt.Sprintf("the last look that was answered is %v old", age.Round(100*time.Millisecond))
	}
	return ""
}

// metrics is the snapshot in the text format of Prometheus.
func (s Stats) metrics(now time.Time) string {
	var text strings.Builder
	show := func(kind, name, help string, values ...any) {
		fmt.Fprintf(&text, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n", name, help, kind)
		for i := 0; i < len(values); i += 2 {
			fmt.Fprintf(&text, "%s%s %v\n", name, values[i], values[i+1])
		}
	}
	age := -1.0
	if !s.LastLook.IsZero() {
		age = now.Sub(s.LastLook).Seconds()
	}
	show("gauge", "redlatch_watchdog_last_look_age_seconds", "Time since the last look that was answered; -1 before the first.", "", age)
	show("gauge", "redlatch_watchdog_alive", "Watchdogs alive at the last look, this one included.", "", s.Watchdogs)
	show("gauge", "redlatch_watchdog_stalled_sessions", "Clients whose heartbeat was overdue at the last look.", "", s.Stalled)
	show("gauge", "redlatch_watchdog_served_sessions", "Of these, those that this watchdog serves.", "", s.Serving)
	show("counter", "redlatch_watchdog_looks_total", "Looks that were answered.", "", s.Looks)
	show("counter", "redlatch_watchdog_failures_total", "Requests that were refused or not answered.", "", s.Failures)
	show("counter", "redlatch_watchdog_renewals_total", "Leases extended.", "", s.Renewals)
	show("counter", "redlatch_watchdog_gone_holds_total", "Holds that were not there any more.", "", s.Gone)
	show("counter", "redlatch_watchdog_removed_sessions_total", "Sessions removed, by reason.",
		`{reason="dead"}`, s.Dead, `{reason="paused too long"}`, s.LetGo)
	return text.String()
}

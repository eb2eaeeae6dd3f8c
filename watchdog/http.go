package watchdog

import (
	"fmt"
	"net/http"
	"time"
)

// readyFor is how old the last look may be while a watchdog counts as ready. It spans many looks,
// and is shorter than the time after which orchestrators act.
const readyFor = 3 * time.Second

// Handler serves the health of the watchdog and its metrics:
//
//	/healthz   200 while the process runs
//	/readyz    200 while looks are answered, 503 when the last one is older than 3 s
//	/metrics   Stats, for Prometheus; a program with metrics of its own uses redlatchprom.Watchdog
//
// It never blocks, and sends nothing to Redis.
func (w *Watchdog) Handler() http.Handler { return Handler(w.Stats) }

// Handler is Watchdog.Handler for a program that has no watchdog yet, because it is not connected
// to Redis. It serves the Stats of a function, which must not block. The age of the last look
// counts from Stats.Started before the first look.
func Handler(stats func() Stats) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(out http.ResponseWriter, _ *http.Request) { fmt.Fprintln(out, "ok") })
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if why := stats().unready(time.Now()); why != "" {
			http.Error(out, why, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(out, "ok")
	})
	mux.HandleFunc("GET /metrics", func(out http.ResponseWriter, _ *http.Request) { serveMetrics(out, stats()) })
	return mux
}

// unready says why the watchdog is not ready. It is empty if it is.
func (s Stats) unready(now time.Time) string {
	switch age := now.Sub(s.LastLook); {
	case s.LastLook.IsZero():
		return "no look has been answered yet"
	case age > readyFor:
		return fmt.Sprintf("the last look that was answered is %v old", age.Round(100*time.Millisecond))
	}
	return ""
}

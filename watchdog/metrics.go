package watchdog

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Metric is one number of the Stats as monitoring systems take it.
type Metric struct {
	Name   string // such as redlatch_watchdog_renewals_total
	Help   string
	Total  bool   // it counts from the start; otherwise it is a gauge
	Reason string // the value of its label "reason"; it has no label if this is empty
	Value  float64
}

// Metrics are the Stats, one by one. Those with one name follow one another.
func (s Stats) Metrics() []Metric {
	const prefix, removed, why = "redlatch_watchdog_", "removed_sessions_total", "Sessions removed, by reason."
	all := []Metric{
		{Name: "last_look_age_seconds", Help: "Time since the last look that was answered; before the first, since the start.", Value: s.age()},
		{Name: "alive", Help: "Watchdogs alive at the last look, this one included.", Value: float64(s.Watchdogs)},
		{Name: "stalled_sessions", Help: "Clients whose heartbeat was overdue at the last look.", Value: float64(s.Stalled)},
		{Name: "served_sessions", Help: "Of these, those that this watchdog serves.", Value: float64(s.Serving)},
		{Name: "late_seconds", Help: "How long the first visit, or reading all names, was overdue at the last look.", Value: s.Late.Seconds()},
		{Name: "late_visits_total", Help: "Visits that ended more than a quarter of a lease late.", Value: float64(s.LateVisits), Total: true},
		{Name: "looks_total", Help: "Looks that were answered.", Value: float64(s.Looks), Total: true},
		{Name: "failures_total", Help: "Requests that were refused or not answered.", Value: float64(s.Failures), Total: true},
		{Name: "renewals_total", Help: "Leases extended.", Value: float64(s.Renewals), Total: true},
		{Name: "gone_holds_total", Help: "Holds that were not there any more.", Value: float64(s.Gone), Total: true},
		{Name: "skipped_total", Help: "Entries and names out of bounds or forbidden, counted at each visit.", Value: float64(s.Skipped), Total: true},
		{Name: removed, Help: why, Value: float64(s.Dead), Total: true, Reason: "dead"},
		{Name: removed, Help: why, Value: float64(s.LetGo), Total: true, Reason: "paused too long"},
	}
	for i := range all {
		all[i].Name = prefix + all[i].Name
	}
	return all
}

func (s Stats) age() float64 {
	since := s.LastLook
	if since.IsZero() {
		since = s.Started
	}
	return time.Since(since).Seconds()
}

// serveMetrics answers with the Stats in the text format of Prometheus, version 0.0.4. It is written
// by hand, so that a watchdog does not bring Prometheus' library along (docs/decisions/0032).
func serveMetrics(out http.ResponseWriter, stats Stats) {
	var text bytes.Buffer
	last := ""
	for _, m := range stats.Metrics() {
		if m.Name != last {
			kind := "gauge"
			if m.Total {
				kind = "counter"
			}
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, kind)
			last = m.Name
		}
		label := ""
		if m.Reason != "" {
			label = fmt.Sprintf("{reason=%q}", m.Reason)
		}
		fmt.Fprintf(&text, "%s%s %s\n", m.Name, label, strconv.FormatFloat(m.Value, 'f', -1, 64))
	}
	out.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = out.Write(text.Bytes()) // a reader that has left needs no answer
}

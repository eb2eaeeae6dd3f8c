package console

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// storyReport is what has happened to one lock.
type storyReport struct {
	At     int64  `json:"at"`
	Began  int64  `json:"began"` // since when locks are watched; 0: they are not
	Gaps   []gap  `json:"gaps"`
	Events []told `json:"events"`
}

// story answers what has happened to a lock after an event.
func (c *Console) story(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after, err := strconv.ParseInt(query.Get("after"), 10, 64)
	if err != nil && query.Get("after") != "" {
		refuse(w, http.StatusBadRequest, "after is no number")
		return
	}
	now := time.Now()
	report := storyReport{At: now.UnixMilli(), Events: []told{}, Gaps: []gap{}}
	c.feed.mu.Lock()
	events, gaps := c.feed.history.of(query.Get("lock"), after, now)
	if began := c.feed.history.began; !began.IsZero() {
		report.Began = began.UnixMilli()
	}
	c.feed.mu.Unlock()
	report.Events, report.Gaps = append(report.Events, events...), append(report.Gaps, gaps...)
	answer(w, http.StatusOK, report)
}

// answer writes JSON.
func answer(w http.ResponseWriter, code int, report any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(report) // the viewer may have gone
}

// refuse answers why not.
func refuse(w http.ResponseWriter, code int, why string) {
	answer(w, code, map[string]string{"error": why})
}

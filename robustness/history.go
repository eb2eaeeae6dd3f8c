package robustness

import (
	"slices"
	"sync"
	"time"
)

// clock counts from the start of a drill, on the monotonic clock.
type clock struct{ start time.Time }

func (c clock) now() time.Duration { return time.Since(c.start) }

// span is one hold as its holder saw it.
type span struct {
	lock    string
	asked   time.Duration // Lock was about to be called; the server granted it later
	granted time.Duration // Lock had returned
	sure    time.Duration // the last moment at which the hold was valid for certain
	token   int64         // 0 without
}

// history is every ended hold of the traffic of one level.
type history struct {
	mu    sync.Mutex
	spans []span
}

func (h *history) add(s span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spans = append(h.spans, s)
}

// all returns what has been added up to now.
func (h *history) all() []span {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.spans)
}

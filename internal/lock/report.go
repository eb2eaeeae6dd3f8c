package lock

import (
	"sync"
	"time"
)

// reporter calls the logger and the observer for goroutines that must not wait for them: a
// slow handler delays reports, and neither renewals nor whoever learns of a loss.
type reporter struct {
	mu      sync.Mutex
	reports []func()
	ended   chan struct{} // of the goroutine that reports; nil while there is none
}

// add has fn called soon, in the order of the reports.
func (r *reporter) add(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fn)
	if r.ended == nil {
		r.ended = make(chan struct{})
		go r.run()
	}
}

// tryAdd is add for what may be left out. It is left out if many reports wait, because a handler
// hangs.
func (r *reporter) tryAdd(fn func()) {
	r.mu.Lock()
	full := len(r.reports) >= maxReports
	r.mu.Unlock()
	if !full {
		r.add(fn)
	}
}

// maxReports is how many reports may wait before some are left out.
const maxReports = 1000

// run goes on until nothing is left to report.
func (r *reporter) run() {
	for {
		r.mu.Lock()
		if len(r.reports) == 0 {
			close(r.ended)
			r.ended = nil
			r.mu.Unlock()
			return
		}
		report := r.reports[0]
		r.reports = r.reports[1:]
		r.mu.Unlock()
		report()
	}
}

// wait waits for the last report, but no longer than d: a handler may hang, or wait for whoever
// waits here.
func (r *reporter) wait(d time.Duration) {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended != nil {
		Within(d, ended)
	}
}

// Within waits for a value for a while. It is zero if none came.
func Within[T any](d time.Duration, values <-chan T) (value T) {
	select {
	case value = <-values:
	case <-time.After(d):
	}
	return value
}

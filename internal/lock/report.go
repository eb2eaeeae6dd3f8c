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
		within(d, ended)
	}
}

// within waits for a value for a while. It is zero if none came.
func within[T any](d time.Duration, values <-chan T) (value T) {
	select {
	case value = <-values:
	case <-time.After(d):
	}
	return value
}

package redlatch

import "sync"

// reporter calls the logger and the observer for goroutines that must not wait for them: a
// slow handler delays reports, and neither renewals nor whoever learns of a loss.
type reporter struct {
	mu      sync.Mutex
	reports []func()
	running bool
}

// report has fn called soon, in the order of the reports.
func (c *Client) report(fn func()) {
	r := &c.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fn)
	if !r.running {
		r.running = true
		c.background.Go(r.run)
	}
}

// run goes on until nothing is left to report.
func (r *reporter) run() {
	for {
		r.mu.Lock()
		reports := r.reports
		r.reports = nil
		r.running = len(reports) > 0
		r.mu.Unlock()
		if len(reports) == 0 {
			return
		}
		for _, report := range reports {
			report()
		}
	}
}

package lock

import "time"

// What cohorts alone need of the end of a grant. It goes with them.

// endAttempt ends a grant of which nobody got a hold.
func (g *Grant) endAttempt() {
	if g.held() == 0 {
		g.close(errNotGranted)
	}
	g.shared.forget(g)
}

// inMinHold says that MinHold is not over: the lock stays if it is released now.
func (g *Grant) inMinHold() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Before(g.minHoldEnd)
}

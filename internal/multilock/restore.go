package multilock

import "time"

// firstRestore is when a missing member is asked for again at first: it may just be on its way
// back from its last holder. The pauses then grow.
const firstRestore = 20 * time.Millisecond

// longestRestore is such that the pauses, with their jitter, are the interval of renewals on average.
func longestRestore(renewal time.Duration) time.Duration { return renewal / 3 * 4 }

// planRestore sees to it that a quorum asks again for missing members. What is not renewed is not
// restored. The mutex is held.
func (g *group) planRestore() {
	if g.formed && g.count(missing) > 0 && !g.whole.Fixed && g.again == nil && g.hold.Ended() == nil {
		g.again = time.AfterFunc(g.backoff.Next(), g.restore)
	}
}

// restore asks for the members that are missing. Nobody else has a majority meanwhile, so it does
// not matter what their servers may have forgotten.
func (g *group) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.again = nil
	for i := range g.entries {
		if g.entries[i].state == missing && g.hold.Ended() == nil {
			g.entries[i] = entry{state: asked} // the end of the former hold is no news of the next
			go g.ask(i)
		}
	}
}

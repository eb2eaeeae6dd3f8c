package multilock

import "time"

// firstRestore is when a missing member is asked for again at first: it may just be on its way
// back from its last holder. The pauses then grow up to the interval of renewals.
const firstRestore = 20 * time.Millisecond

// planRestore sees to it that a quorum asks again for missing members. What is not renewed is not
// restored. The mutex is held.
func (g *group) planRestore() {
	if g.formed && g.count(missing) > 0 && !g.whole.Fixed && g.again == nil && g.hold.Ended() == nil {
		g.again = time.AfterFunc(g.pause, g.restore)
		g.pause = min(2*g.pause, g.Set.Members[0].Locks.RenewInterval(g.each[0].Lease))
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

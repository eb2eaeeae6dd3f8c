package multilock

import (
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// firstRestore is when a missing member is asked for again at first: it may just be on its way
// back from its last holder. The pauses then grow.
const firstRestore = 20 * time.Millisecond

// longestRestore is such that the pauses, with their jitter, are the interval of renewals on average.
func longestRestore(renewal time.Duration) time.Duration { return renewal / 3 * 4 }

// planRestore sees to it that a quorum asks again for missing members. One that another holds is
// watched, like any lock that is waited for. What is not renewed is not restored. The mutex is held.
func (g *group) planRestore() {
	if !g.formed || g.whole.Fixed || g.hold.Ended() != nil {
		return
	}
	for i, e := range g.entries {
		switch seen, refused := errors.AsType[*lockerr.NotAcquiredError](e.why); {
		case e.state != missing || g.watched[i]:
		case refused && seen.Holder != "":
			g.watched[i] = true
			go g.watch(i, seen)
		case g.again == nil:
			g.again = time.AfterFunc(g.backoff.Next(), g.restore)
		}
	}
}

// restore asks for the members that are missing. Nobody else has a majority meanwhile, so it does
// not matter what their servers may have forgotten.
func (g *group) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.again = nil
	for i := range g.entries {
		if !g.watched[i] && g.begins(i) {
			go g.ask(i)
		}
	}
}

// begins reports that a missing member is to be asked for. The mutex is held.
func (g *group) begins(i int) bool {
	if g.entries[i].state != missing || g.hold.Ended() != nil {
		return false
	}
	g.entries[i] = entry{state: asked} // the end of the former hold is no news of the next
	return true
}

// watch asks for a member each time when its lock may have become free, as long as others hold it. It
// stands in the lock's wait queue, also while it asks, so that it misses no message.
func (g *group) watch(i int, seen *lockerr.NotAcquiredError) {
	m, backoff := g.Set.Members[i], g.each[i]
	w := m.Ref.Watch(backoff.Backoff)
	looked := true
	defer func() { // also if the observer ends the goroutine
		w.Leave()
		g.mu.Lock()
		defer g.mu.Unlock()
		if looked {
			g.watched[i] = false
			g.planRestore()
		}
	}()
	for held := true; held; {
		w.Requeue(time.Now().Add(lock.Nap(seen.TTL, m.Locks.PollCap)))
		if looked, _ = w.Wait(g.under, func(waitqueue.Step) (bool, error) { return true, nil }); !looked {
			return // the group has ended, or the member's client stops: nobody asks for it again
		}
		g.mu.Lock()
		begins := g.begins(i)
		g.mu.Unlock()
		if begins {
			g.ask(i)
		}
		g.mu.Lock()
		refused := false
		seen, refused = errors.AsType[*lockerr.NotAcquiredError](g.entries[i].why)
		held = begins && g.entries[i].state == missing && refused && seen.Holder != "" && g.hold.Ended() == nil
		g.mu.Unlock()
	}
}

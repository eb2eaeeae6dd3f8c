package multilock

import (
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// firstRestore is when a missing member is asked for again at first: it may just be on its way
// back from its last holder. The pauses then grow.
const firstRestore = 20 * time.Millisecond

// longestRestore is such that the pauses, with their jitter, are the interval of renewals on average.
func longestRestore(renewal time.Duration) time.Duration { return renewal / 3 * 4 }

// planRestore sees to it that a quorum asks again for missing members. One that another holds is
// watched, like any lock that is waited for, by the waiter that stood there for it if there is one. What is not
// renewed is not restored. The mutex is held.
func (g *group) planRestore(stood []*waitqueue.Waiter) {
	if !g.formed || g.whole.Fixed || g.hold.Ended() != nil {
		return
	}
	for i, e := range g.entries {
		switch {
		case e.state != missing || g.watched[i]:
		case e.refusal() != nil:
			g.watched[i] = true
			go g.watch(i, g.watcher(i, stood))
		case g.again == nil:
			g.again = time.AfterFunc(g.backoff.Next(), g.restore)
		}
	}
}

// watcher is a waiter for a member that was refused: the one that stood there, which missed no message, or one that
// asks at once.
func (g *group) watcher(i int, stood []*waitqueue.Waiter) *waitqueue.Waiter {
	if stood == nil || stood[i] == nil {
		return g.Set.Members[i].Ref.Watch(g.each[i].Backoff)
	}
	w := stood[i]
	stood[i] = nil
	w.Limit(g.under, 0)
	w.Won()
	w.Requeue(g.entries[i].nextLook(g.Set.Members[i]), 0)
	return w
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

// watch asks for a member each time when its lock may have become free, as long as others hold it. The waiter
// stands in the lock's wait queue, also while it asks, so that it misses no message.
func (g *group) watch(i int, w *waitqueue.Waiter) {
	looked := true
	defer func() { // also if the observer ends the goroutine
		w.Leave()
		g.mu.Lock()
		defer g.mu.Unlock()
		if looked {
			g.watched[i] = false
			g.planRestore(nil)
		}
	}()
	for {
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
		e := g.entries[i]
		held := begins && e.state == missing && e.refusal() != nil && g.hold.Ended() == nil
		g.mu.Unlock()
		if !held {
			return
		}
		w.Requeue(e.nextLook(g.Set.Members[i]), 0)
	}
}

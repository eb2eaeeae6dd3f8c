package main

import (
	"os"
	"time"

	"github.com/redlatch/redlatch"
)

// stay keeps the lock until the time of --at-least is over, after a command that ended before.
//
// If Redis would end the lock later, this process waits and releases: a TTL is never lowered. If it
// is killed meanwhile, or told to end, the lock lasts longer than it has to, and never shorter.
func (t *task) stay(hold *redlatch.Hold, signals <-chan os.Signal) {
	rest := time.Until(t.acquired.Add(t.atLeast))
	if rest <= 0 || hold.Err() != nil || t.raise(hold) {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hold.Done():
	case <-signals:
		hold.Detach()
	}
}

// raise raises the TTL if Redis would end the lock before the time of --at-least is over: one more
// acquisition by the same owner asks for what is missing. Both holds are then left to it, and this
// process is not needed any more.
func (t *task) raise(hold *redlatch.Hold) bool {
	end := t.acquired.Add(t.atLeast)
	rest := time.Until(end)
	if rest <= 0 || hold.Err() != nil || !hold.Deadline().Before(end) {
		return false
	}
	more, err := t.lock.Lock(t.owner, redlatch.WithLease(max(rest, minLease)), redlatch.WithWait(0))
	if err != nil {
		return false
	}
	more.Detach()
	hold.Detach()
	return true
}

package main

import (
	"os"
	"time"

	"github.com/redlatch/redlatch"
)

// stay keeps the lock until the time of --at-least is over, after a command that ended before.
//
// If Redis would end the lock earlier, one more acquisition by the same owner raises the TTL to
// what is missing. Both holds are then left to it, and this process is not needed any more. If
// Redis would end the lock later, this process waits and releases: a TTL is never lowered. If it
// is killed meanwhile, or told to end, the lock lasts longer than it has to, and never shorter.
func (t *task) stay(hold *redlatch.Hold, signals <-chan os.Signal) {
	end := t.acquired.Add(t.atLeast)
	rest := time.Until(end)
	if rest <= 0 || hold.Err() != nil {
		return
	}
	if hold.Deadline().Before(end) {
		more, err := t.lock.Lock(t.owner, redlatch.WithLease(max(rest, minLease)), redlatch.WithWait(0))
		if err == nil {
			more.Detach()
			hold.Detach()
			return
		}
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

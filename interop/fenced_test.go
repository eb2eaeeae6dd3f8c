//go:build interop

package interop_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: where our tokens follow the clock, Java's go on from them, and ours from Java's.
func tokensByTheClock(t *testing.T, r rig) {
	s := settings{watchdog: 30 * time.Second, tokenClock: true}
	java, latch := newClient(t, r.theirs, s), newClient(t, r.latch, s)
	name := redistest.Name(t)
	take := func(a actor) int64 {
		token := a.must(t, tryLock("fenced", name)).Value
		a.must(t, unlock("fenced", name))
		return token
	}
	last := take(java)
	for range 5 {
		clock := time.Now().UnixMicro()
		if got := take(latch); got <= last || got < clock {
			t.Errorf("our token is %d at %d µs and after %d", got, clock, last)
		} else {
			last = got
		}
		for range 2 {
			if got := take(java); got != last+1 {
				t.Errorf("Java's token is %d after %d", got, last)
			}
			last++
		}
	}
	if got := redistest.Shared(t).PTTL(t, protocol.TokenKey(name)); got >= 0 {
		t.Errorf("the count of the tokens ends in %v", got)
	}
}

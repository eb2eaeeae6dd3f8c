//go:build interop

package interop_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: beside spin locks of the other library, which publish nothing, a wait that polls is bounded on
// both sides, and neither subscribes. Method: three threads of each take one lock again and again. A Go
// process hands it over in memory and then leaves it free for one longest pause, after eight of them
// at the latest. The bound has room for the other threads and a busy machine. That nobody overlaps
// is for the histories to show.
func spins(t *testing.T, r rig) {
	if !r.has(t, "spin") {
		return
	}
	c := rivalry{one: r.theirs, other: r.latch, threads: [2]int{3, 3}}
	s := settings{watchdog: 30 * time.Second, url: r.url}
	sides := [2]actor{newClient(t, r.theirs, s), newClient(t, r.latch, s)}
	contest := verb("contend", "spin", redistest.Name(t))
	contest.Each = (2 * time.Millisecond).Microseconds()
	c.contend(t, sides, contest, 500*time.Millisecond) // a JVM that has just begun to run is slow
	span := 8 * time.Second
	if !r.newest(t) {
		span = 3 * time.Second
	}
	sections, longest := c.contend(t, sides, contest, span)
	for i, side := range sides {
		t.Logf("%s: %d sections, longest wait %v", side.peer.language(), sections[i], longest[i])
		if sections[i] < 10 || longest[i] > 7*time.Second {
			t.Errorf("%s: %d sections, longest wait %v", side.peer.language(), sections[i], longest[i])
		}
	}
	if channels := redistest.Shared(t).CLI(t, "PUBSUB", "CHANNELS", "*"+contest.Name+"*").([]any); len(channels) > 0 {
		t.Errorf("somebody listens to %v", channels)
	}
}

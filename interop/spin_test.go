//go:build interop

package interop_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: beside spin locks of the other library, which publish nothing, both sides get on, a wait of ours
// that polls is bounded, and neither side subscribes. Method: three threads of each take one lock again
// and again. A Go process hands it over in memory and then leaves it free for one longest pause, after
// eight of them at the latest. The bound has room for the other threads and a busy machine. Threads of
// Java have none: each polls for itself, and may miss its turn to another one again and again. That
// nobody overlaps is for the histories to show.
func spins(t *testing.T, r rig) {
	if !r.has(t, "spin") {
		return
	}
	c := rivalry{one: r.theirs, other: r.latch, threads: [2]int{3, 3}}
	s := settings{watchdog: 30 * time.Second, url: r.url}
	sides := [2]actor{newClient(t, r.theirs, s), newClient(t, r.latch, s)}
	contest := verb("contend", "spin", redistest.Name(t))
	contest.Each = (2 * time.Millisecond).Microseconds()
	c.contend(t, sides, contest, 500*time.Millisecond)               // a JVM that has just begun to run is slow
	sections, longest := c.contend(t, sides, contest, 8*time.Second) // on one processor some wait for 4 s
	for i, side := range sides {
		t.Logf("%s: %d sections, longest wait %v", side.peer.language(), sections[i], longest[i])
		if ours := i == 1; sections[i] < 10 || ours && longest[i] > 7*time.Second {
			t.Errorf("%s: %d sections, longest wait %v", side.peer.language(), sections[i], longest[i])
		}
	}
	if channels := redistest.Shared(t).CLI(t, "PUBSUB", "CHANNELS", "*"+contest.Name+"*").([]any); len(channels) > 0 {
		t.Errorf("somebody listens to %v", channels)
	}
}

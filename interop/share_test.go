//go:build interop

package interop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: beside steady contention of ours, the other library gets a share of the sections.
// Method: two threads of each take one lock again and again. The bound is half of what a quiet
// machine shows, and each length has three tries. On a busy machine Java is often not there for
// the next of the shortest sections.
func shares(t *testing.T, r rig) {
	c := rivalry{one: r.theirs, other: r.latch, threads: [2]int{2, 2}}
	c.attain(t, 0.05, 0.15)
}

// Goal: processes of ours share a lock, also if one of them has a lone goroutine that asks again
// right after each release, for which nobody waits in its process.
func TestProcessesOfOursShareALock(t *testing.T) {
	for _, threads := range [][2]int{{8, 8}, {2, 1}} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			c := rivalry{one: startLatches(t), other: here{newLatches()}, threads: threads}
			c.attain(t, 0.25, 0.25)
		})
	}
}

// rivalry is two peers with some threads each that take one lock again and again.
type rivalry struct {
	one, other peer
	threads    [2]int
}

// attain checks that the first peer gets a share of sections of any length: of the shortest, and
// of the others.
func (r rivalry) attain(t *testing.T, shortest, others float64) {
	t.Helper()
	bound := shortest
	for _, each := range []time.Duration{0, 200 * time.Microsecond, 2 * time.Millisecond} {
		t.Run(fmt.Sprintf("sections of %v", each), func(t *testing.T) {
			for range 3 {
				if r.share(t, each) >= bound {
					return
				}
			}
			t.Errorf("%s gets less than %.0f %% of the sections", r.one.language(), 100*bound)
		})
		bound = others
	}
}

// share is the share of the first peer in the sections of one contest.
func (r rivalry) share(t *testing.T, each time.Duration) float64 {
	t.Helper()
	// A waiter of node-redisson may miss a message, and then sleeps for the rest of the TTL.
	s := settings{watchdog: 3 * time.Second}
	sides := [2]actor{newClient(t, r.one, s), newClient(t, r.other, s)}
	c := verb("contend", "mutex", redistest.Name(t))
	c.Each = each.Microseconds()
	r.contend(t, sides, c, 500*time.Millisecond) // a JVM that has just begun to run is slow
	sections, longest := r.contend(t, sides, c, 2*time.Second)
	got := float64(sections[0]) / float64(sections[0]+sections[1])
	t.Logf("%s %d sections (%.0f %%), longest wait %v; %s %d, %v",
		sides[0].peer.language(), sections[0], 100*got, longest[0],
		sides[1].peer.language(), sections[1], longest[1])
	return got
}

// contend lets all threads play for a while, and returns the sections and the longest wait of
// each side.
func (r rivalry) contend(t *testing.T, sides [2]actor, c command, span time.Duration) (sections [2]int64, longest [2]time.Duration) {
	t.Helper()
	c.Span = span.Microseconds()
	var running [2][]<-chan answer
	for i, side := range sides {
		for n := range r.threads[i] {
			running[i] = append(running[i], side.thread(n+1).start(c))
		}
	}
	for i, side := range sides {
		for _, got := range running[i] {
			a := side.await(t, c, got)
			if !a.OK || a.Error != "" {
				t.Fatalf("%v: %+v", side, a)
			}
			sections[i] += a.Value
			longest[i] = max(longest[i], time.Duration(a.Longest)*time.Microsecond)
		}
	}
	return sections, longest
}

// contend takes the lock again and again, for a section each time, and counts the sections.
func (t *thread) contend(c command, a *answer) error {
	lock, end := t.client.lock(c), time.Now().Add(time.Duration(c.Span)*time.Microsecond)
	for asked := time.Now(); asked.Before(end); asked = time.Now() {
		h, err := lock.Lock(t.ctx, backoff(c)...)
		if err != nil {
			return err
		}
		a.Longest = max(a.Longest, time.Since(asked).Microseconds())
		a.Value++
		if c.Each > 0 {
			time.Sleep(time.Duration(c.Each) * time.Microsecond)
		}
		if err := h.Unlock(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

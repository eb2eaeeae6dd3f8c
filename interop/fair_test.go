//go:build interop

package interop_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: Java and Go waiters of several clients stand in one queue and are served in its
// order. Method: they queue one after the other, in a random order of the sides, and each
// turn is compared with the order of their coming.
func fairOrder(t *testing.T, r rig) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s := settings{watchdog: 30 * time.Second, fairWait: 5 * time.Minute}
	first := newClient(t, r.latch, s)
	clients := []actor{newClient(t, r.theirs, s), newClient(t, r.theirs, s), newClient(t, r.latch, s), newClient(t, r.latch, s)}
	var waiters []actor
	for _, c := range clients {
		for thread := range 3 {
			waiters = append(waiters, c.thread(thread+1))
		}
	}
	random.Shuffle(len(waiters), func(i, j int) { waiters[i], waiters[j] = waiters[j], waiters[i] })

	name := redistest.Name(t)
	wanted := lock("fair", name)
	first.must(t, wanted)
	entered := make([]<-chan answer, len(waiters))
	for i, w := range waiters {
		entered[i] = w.start(wanted)
		redistest.Eventually(t, 20*time.Second, func() bool { return len(queue(t, name)) == i+1 }, w.String()+" is queued")
	}
	order := queue(t, name)
	first.must(t, unlock("fair", name))
	for i, w := range waiters {
		got := w.await(t, wanted, entered[i])
		if !got.OK || got.Owner != order[i] {
			t.Fatalf("turn %d is %v of %v: %+v, want %s", i, w, waiters, got, order[i])
		}
		if left := queue(t, name); !slices.Equal(left, order[i+1:]) {
			t.Fatalf("in turn %d there wait %q, want %q", i, left, order[i+1:])
		}
		first.mustNot(t, tryLock("fair", name))
		w.must(t, unlock("fair", name))
	}
	// The keep-alives of ours stay if the last to wait was Java, until one of ours comes by.
	first.must(t, tryLock("fair", name))
	first.must(t, unlock("fair", name))
	empty(t, name)
}

// Goal: a waiter whose process was killed at the head of the queue does not keep the
// others off for good.
func fairDead(t *testing.T, r rig) {
	s := settings{watchdog: 3 * time.Second, fairWait: 10 * time.Second}
	const doomedWait = 2 * time.Second
	for _, c := range []struct {
		title  string
		head   func() *process
		behind []peer
		within time.Duration
	}{
		// We know after 3.5 s that one of ours is dead, and tell whoever is next.
		{"Go dies before Java and Go", func() *process { return startLatches(t) }, []peer{r.theirs, r.latch}, 8 * time.Second},
		// Java knows nothing but the deadline: our slot after the lock's expiry.
		{"Go dies before Java", func() *process { return startLatches(t) }, []peer{r.theirs}, 20 * time.Second},
		// The same holds for everybody when it is Java that dies, and for ours 10 s are enough.
		{"Java dies before Go", func() *process { return startJava(t, r.version) }, []peer{r.latch}, 13 * time.Second},
		{"Java dies before Java and Go", func() *process { return startJava(t, r.version) }, []peer{r.theirs, r.latch}, 13 * time.Second},
	} {
		t.Run(c.title, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			holder := newClient(t, r.latch, s)
			dead := c.head()
			doomed := openOn(t, dead, redistest.Shared(t).URL(), s)
			var living []actor // open before the doomed waits, which is not for long
			for _, p := range c.behind {
				living = append(living, newClient(t, p, s))
			}
			holder.must(t, lock("fair", name))
			doomed.start(tryLock("fair", name).waiting(doomedWait))
			redistest.Eventually(t, 20*time.Second, func() bool { return len(queue(t, name)) == 1 }, "the head is queued")
			var entered []<-chan answer
			wanted := tryLock("fair", name).waiting(time.Minute)
			for i, w := range living {
				entered = append(entered, w.start(wanted))
				redistest.Eventually(t, 20*time.Second, func() bool { return len(queue(t, name)) == i+2 }, "the living are queued")
			}
			dead.kill()
			released := holder.must(t, unlock("fair", name))
			for i, w := range living {
				got := w.await(t, wanted, entered[i])
				took := got.at().Sub(released.from())
				t.Logf("%s enters %v after the release", w.peer.language(), took)
				if !got.OK || took > c.within {
					t.Errorf("%v: %+v after %v, want less than %v", w, got, took, c.within)
				}
				if got.OK {
					w.must(t, unlock("fair", name))
				}
			}
		})
	}
}

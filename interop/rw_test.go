//go:build interop

package interop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: with readers of both sides, the lock is the readers' until the last of them has
// left, in whatever order they leave. Method: two Java and two Go readers, every order in
// which the sides can leave, and after each step a writer of each side that must not get in.
func mixedReaders(t *testing.T, r rig) {
	java := newClient(t, r.theirs, settings{watchdog: 30 * time.Second})
	latch := newClient(t, r.latch, settings{watchdog: 30 * time.Second})
	readers := []actor{java.thread(1), latch.thread(1), java.thread(2), latch.thread(2)}
	writers := []actor{java.thread(9), latch.thread(9)}
	server := redistest.Shared(t)
	for _, order := range permutations(len(readers)) {
		name := redistest.Name(t)
		for _, reader := range readers {
			reader.must(t, lock("read", name))
		}
		// One of each side reads twice for a while.
		readers[0].must(t, lock("read", name))
		readers[1].must(t, lock("read", name))
		readers[0].must(t, unlock("read", name))
		for _, i := range order {
			refused(t, writers, name)
			readers[i].must(t, unlock("read", name))
			if i == 1 { // its second hold
				refused(t, writers, name)
				readers[i].must(t, unlock("read", name))
			}
		}
		// Redisson deletes the key of an unlock a moment after it has answered.
		redistest.Eventually(t, 5*time.Second, func() bool { return len(server.Keys(t, "*"+name+"*")) == 0 },
			fmt.Sprintf("in the order %v, the last reader leaves nothing", order))
		for _, w := range writers {
			w.must(t, tryLock("write", name))
			w.must(t, unlock("write", name))
		}
	}
}

func refused(t *testing.T, writers []actor, name string) {
	t.Helper()
	for _, w := range writers {
		w.mustNot(t, tryLock("write", name))
	}
}

// permutations of 0…n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for at := 0; at <= len(shorter); at++ {
			p := append(append(append([]int{}, shorter[:at]...), n-1), shorter[at:]...)
			all = append(all, p)
		}
	}
	return all
}

// Goal: an owner that reads inside its write hold and gives the write side back lets
// readers of the other side in, and keeps writers out until it has read. Redisson tells
// nobody of it (F12): Go readers then come when they look, at the poll cap at the latest.
func downgraded(t *testing.T, r rig) {
	for _, c := range []struct {
		writer, reader peer
		within         time.Duration
	}{
		{r.latch, r.theirs, 250 * time.Millisecond},
		{r.theirs, r.latch, 5500 * time.Millisecond},
	} {
		t.Run(c.writer.language()+" downgrades", func(t *testing.T) {
			w := newClient(t, c.writer, settings{watchdog: 30 * time.Second, url: r.url})
			x := newClient(t, c.reader, settings{watchdog: 30 * time.Second, url: r.url})
			name := redistest.Name(t)
			w.must(t, lock("write", name))
			w.must(t, lock("read", name))
			waiting := []<-chan answer{}
			for thread := range 3 {
				reader := x.thread(thread + 1)
				waiting = append(waiting, reader.start(lock("read", name)))
				reader.parked(t)
			}
			by := w.must(t, unlock("write", name))
			for _, got := range waiting {
				entered := x.await(t, lock("read", name), got)
				took := entered.at().Sub(by.from())
				t.Logf("%s downgrades, %s reads after %v", c.writer.language(), c.reader.language(), took)
				if !entered.OK || took > c.within {
					t.Errorf("a reader of %s entered after %v, want %v: %+v", c.reader.language(), took, c.within, entered)
				}
			}
			x.thread(9).mustNot(t, tryLock("write", name))
			w.must(t, unlock("read", name))
			x.thread(9).mustNot(t, tryLock("write", name))
			for thread := range 3 {
				x.thread(thread+1).must(t, unlock("read", name))
			}
			x.thread(9).must(t, tryLock("write", name))
			x.thread(9).must(t, unlock("write", name))
		})
	}
}

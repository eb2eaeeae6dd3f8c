//go:build interop

package interop_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: an owner that reads inside its write hold and gives the write side back lets
// readers of the other side in, and keeps writers out until it has read. Redisson tells
// nobody of it (F12): Go readers then come when they look, at the poll cap at the latest.
func downgraded(t *testing.T, r rig) {
	for _, c := range []struct {
		writer, reader peer
		within         time.Duration
	}{
		{r.latch, r.theirs, told},
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

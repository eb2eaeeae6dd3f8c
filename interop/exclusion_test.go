//go:build interop

package interop_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// contest is one way in which a lock keeps somebody off: who holds it how, and who waits
// for it how.
type contest struct{ held, wanted string }

var contests = []contest{
	{"mutex", "mutex"},
	{"fair", "fair"},
	{"write", "write"},
	{"write", "read"},
	{"read", "write"},
	{"fenced", "fenced"},
	{"fenced", "mutex"},
	{"mutex", "fenced"},
	{"multi", "multi"},
	{"multi", "mutex"},
	{"mutex", "multi"},
}

func (c contest) String() string {
	if c.held == c.wanted {
		return c.held
	}
	return c.wanted + " behind " + c.held
}

func (c contest) has(kind string) bool { return c.held == kind || c.wanted == kind }

// locks are the names of the two locks: the same, unless one is a multi-lock and the other
// one of its members.
func (c contest) locks(t testing.TB) (held, wanted string) {
	name := redistest.Name(t)
	if !c.has("multi") {
		return name, name
	}
	held, wanted = triple(name), triple(name)
	if c.held != "multi" {
		held = members(held)[1]
	}
	if c.wanted != "multi" {
		wanted = members(wanted)[1]
	}
	return held, wanted
}

// eachContest runs a test for every contest, both ways.
func (r rig) eachContest(t *testing.T, test func(t *testing.T, c contest, holder, waiter peer)) {
	t.Helper()
	for _, c := range contests {
		if !r.has(t, c.held) || !r.has(t, c.wanted) {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			r.bothWays(t, func(t *testing.T, one, other peer) { test(t, c, one, other) })
		})
	}
}

// told is how long it takes at most until a waiter that is told has entered. One of ours that is not told looks after 4s at the
// earliest, one of Redisson when the lease is over.
const told = time.Second

// Goal: a waiter enters right after the release, because it is told and not because it
// looks. Method: the lock lives for half a minute, so that who is not told comes much
// later. The middle of some tries is asked for, and no more than told, for the machine may be busy.
func entersAtTheRelease(t *testing.T, r rig) {
	r.eachContest(t, func(t *testing.T, c contest, holder, waiter peer) {
		h := newClient(t, holder, settings{watchdog: 30 * time.Second, url: r.url})
		w := newClient(t, waiter, settings{watchdog: 30 * time.Second, url: r.url})
		const tries = 9
		var took []time.Duration
		for range tries {
			held, name := c.locks(t)
			h.must(t, lock(c.held, held))
			w.mustNot(t, tryLock(c.wanted, name))
			wanted := lock(c.wanted, name)
			got := w.start(wanted)
			w.parked(t)
			released := h.must(t, unlock(c.held, held))
			entered := w.await(t, wanted, got)
			if !entered.OK {
				t.Fatalf("%v: %+v", w, entered)
			}
			took = append(took, entered.at().Sub(released.from()))
			h.mustNot(t, tryLock(c.held, held))
			w.must(t, unlock(c.wanted, name))
		}
		slices.Sort(took)
		t.Logf("%s releases, %s enters: fastest %v, middle %v, slowest %v",
			holder.language(), waiter.language(), took[0], took[tries/2], took[tries-1])
		if middle := took[tries/2]; middle > told {
			t.Errorf("the middle of %d tries is %v, more than %v", tries, middle, told)
		}
	})
}

// Goal: a fixed lease that ends lets the waiter in by itself, and its holder is told at
// its unlock.
func leaseEnds(t *testing.T, r rig) {
	const (
		lease = time.Second
		tick  = 5 * time.Millisecond // Redis counts whole milliseconds, from when it last looked at its clock
	)
	r.eachContest(t, func(t *testing.T, c contest, holder, waiter peer) {
		t.Parallel()
		h := newClient(t, holder, settings{watchdog: 30 * time.Second})
		w := newClient(t, waiter, settings{watchdog: 30 * time.Second})
		holds, name := c.locks(t)
		held := h.must(t, lock(c.held, holds).leased(lease))
		wanted := lock(c.wanted, name)
		got := w.start(wanted)
		if c.held == "fair" && waiter == r.theirs && r.oversleeps(t) {
			defer standBehind(t, r, name)()
		}
		entered := w.await(t, wanted, got)
		if took := entered.at().Sub(held.from()); !entered.OK || took < lease-tick || took > lease+3*time.Second {
			t.Errorf("%v: %+v, %v after the holder had asked for a lease of %v", w, entered, took, lease)
		}
		h.lost(t, unlock(c.held, holds))
		if got := w.must(t, verb("holdCount", c.wanted, name)); got.Value != 1 {
			t.Errorf("the late unlock of %v disturbed %v: its count is %d", h, w, got.Value)
		}
		w.must(t, unlock(c.wanted, name))
	})
}

// oversleeps says that the release has Redisson's flaw with fair locks before 3.32: a
// waiter behind a lease that ends by itself may compute a negative time to sleep, and then
// sleeps until a message that nobody sends, also among Java processes alone.
func (r rig) oversleeps(t *testing.T) bool {
	t.Helper()
	return r.before(t, 3, 32)
}

// standBehind queues a waiter of ours behind the one that is there. Its process tells the
// head of the queue when the lock is free. The function returned waits until it was its
// turn.
func standBehind(t *testing.T, r rig, name string) func() {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, func() bool { return len(queue(t, name)) == 1 }, "the waiter is queued")
	a := newClient(t, r.latch, settings{watchdog: 30 * time.Second})
	wanted := lock("fair", name)
	got := a.start(wanted)
	return func() {
		if entered := a.await(t, wanted, got); !entered.OK {
			t.Errorf("%v: %+v", a, entered)
			return
		}
		a.must(t, unlock("fair", name))
	}
}

// Goal: force unlock of either side frees what the other holds, wakes who waits, and the
// holder learns of it. Multi-locks have no such verb, only their members do.
func forced(t *testing.T, r rig) {
	r.eachContest(t, func(t *testing.T, c contest, holder, other peer) {
		if c.has("multi") {
			return
		}
		h := newClient(t, holder, settings{watchdog: 3 * time.Second, url: r.url})
		o := newClient(t, other, settings{watchdog: 3 * time.Second, url: r.url})
		w := newClient(t, holder, settings{watchdog: 3 * time.Second, url: r.url})
		name := redistest.Name(t)
		h.must(t, lock(c.held, name))
		wanted := lock(c.wanted, name)
		got := w.start(wanted)
		w.parked(t)
		// Each side of Redisson's read-write lock forces its own side alone.
		by := o.must(t, forceUnlock(c.held, name))
		entered := w.await(t, wanted, got)
		took := entered.at().Sub(by.from())
		t.Logf("%s forces, %s enters after %v", other.language(), holder.language(), took)
		if took > time.Second {
			t.Errorf("%v entered %v after force unlock: it was not told", w, took)
		}
		h.lost(t, unlock(c.held, name))
		w.must(t, unlock(c.wanted, name))
		o.mustNot(t, forceUnlock(c.wanted, name))
	})
}

// renewedFor looks at the TTLs of locks for a while.
func renewedFor(t *testing.T, span time.Duration, names ...string) {
	t.Helper()
	for end := time.Now().Add(span); time.Now().Before(end); {
		for _, name := range names {
			if left := redistest.Shared(t).PTTL(t, name); left < renewing/6 || left > renewing {
				t.Fatalf("%s has a TTL of %v", name, left)
			}
		}
	}
}

const renewing = 6 * time.Second // longer than others can keep the machine busy

// Goal: what either side holds is renewed while the other does the same next to it.
func renewsSideBySide(t *testing.T, r rig) {
	t.Parallel()
	sides := []actor{newClient(t, r.theirs, settings{watchdog: renewing}), newClient(t, r.latch, settings{watchdog: renewing})}
	var names []string
	var unlocks []func()
	for _, kind := range []string{"mutex", "fair", "write", "multi", "fenced"} {
		for _, a := range sides {
			name := redistest.Name(t)
			if kind == "multi" {
				name = triple(name)
			}
			if r.has(t, kind) {
				a.must(t, lock(kind, name))
				names = append(names, members(name)...)
				unlocks = append(unlocks, func() { a.must(t, unlock(kind, name)) })
			}
		}
	}
	renewedFor(t, 3*renewing, names...)
	for _, unlock := range unlocks {
		unlock()
	}
}

// Goal: a read lock that both hold lives as long as one of them.
func readsTogether(t *testing.T, r rig) {
	t.Parallel()
	s := settings{watchdog: renewing}
	java, latch, other := newClient(t, r.theirs, s), newClient(t, r.latch, s), newClient(t, r.latch, s)
	name := redistest.Name(t)
	for _, a := range []actor{java, latch, java.thread(2)} {
		a.must(t, lock("read", name))
	}
	renewedFor(t, 3*renewing, name)
	other.mustNot(t, tryLock("write", name))
	java.must(t, unlock("read", name))
	latch.must(t, unlock("read", name))
	renewedFor(t, 2*renewing, name)
	other.mustNot(t, tryLock("write", name))
	java.thread(2).must(t, unlock("read", name))
	other.must(t, tryLock("write", name))
	other.must(t, unlock("write", name))
}

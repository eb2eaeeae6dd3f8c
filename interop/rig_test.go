//go:build interop

package interop_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// rig is what a test has: another library in a probe, and this one.
type rig struct {
	version   string                      // of Redisson, or the name of another library
	kinds     []string                    // of locks that the other library has; nil: all that its version has
	start     func(t testing.TB) *process // a probe with it
	theirs    peer                        // one that was started
	latch     peer
	otherwise string // the form of names from which the other library derives other keys
	url       string // of the servers, where it is not the shared one
}

func newRig(t *testing.T, version string) rig {
	start := func(t testing.TB) *process { return startJava(t, version) }
	return rig{version: version, start: start, theirs: start(t), latch: here{newLatches()}}
}

// newest says whether the release is the first of the list: the long tests run longer
// with it.
func (r rig) newest(t testing.TB) bool { return versions(t)[0] == r.version }

// before says whether the release is older than another.
func (r rig) before(t testing.TB, major, minor int) bool {
	t.Helper()
	var m, n int
	if _, err := fmt.Sscanf(r.version, "%d.%d", &m, &n); err != nil {
		t.Fatalf("release %q: %v", r.version, err)
	}
	return m < major || m == major && n < minor
}

// has says whether the other library has locks of a kind.
func (r rig) has(t testing.TB, kind string) bool {
	t.Helper()
	if r.kinds != nil {
		return slices.Contains(r.kinds, kind)
	}
	return kind != "fenced" || !r.before(t, 3, 19)
}

// versions are the releases that the probe is built with, the newest first.
func versions(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("java/versions")
	all := strings.Fields(string(text))
	if err != nil || len(all) == 0 {
		t.Fatalf("no releases of Redisson in java/versions: %v", err)
	}
	return all
}

// bothWays runs a test twice: with the other library as the one and ours as the other, and
// the other way round.
func (r rig) bothWays(t *testing.T, test func(t *testing.T, one, other peer)) {
	t.Helper()
	theirs, ours := r.theirs.language(), r.latch.language()
	t.Run(theirs+"-then-"+ours, func(t *testing.T) { test(t, r.theirs, r.latch) })
	t.Run(ours+"-then-"+theirs, func(t *testing.T) { test(t, r.latch, r.theirs) })
}

// trial is something that is to be shown of every release.
type trial struct {
	name string
	test func(t *testing.T, r rig)
}

// These measure how soon something happens, or are over soon. They have the machine to
// themselves.
func TestWithRedisson(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			r := newRig(t, version)
			trials := []trial{
				{"every step leaves the same state", sameState},
				{"the queue of a fair lock is the same", sameQueue},
				{"who waits enters at the release", entersAtTheRelease},
				{"force unlock lets the other in", forced},
				{"a downgrade lets the readers of the other in", downgraded},
				{"a multi-lock is all or nothing", allOrNothing},
				{"a fair queue keeps its order", fairOrder},
				{"each side gets a share", shares},
				{"each side of a spin lock enters in time", spins},
				{"semaphores and latches count alike", countsAlike},
				{"who waits for permits or a latch is told", toldOfPermits},
			}
			if r.newest(t) {
				trials = append(trials, trial{"what stands beside a lock is no news", standsBeside})
			}
			if r.has(t, "fenced") {
				trials = append(trials, trial{"fencing tokens grow by the clock", tokensByTheClock})
			}
			for _, c := range trials {
				t.Run(c.name, func(t *testing.T) { c.test(t, r) })
			}
		})
	}
}

// These take long, some because they wait and some because they go on for so long. They
// are made to stand each other's load.
func TestWithRedissonForLong(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, version)
			for _, c := range []trial{
				{"a lease that ends lets the other in", leaseEnds},
				{"both renew side by side", renewsSideBySide},
				{"a read lock of both is renewed", readsTogether},
				{"a fair lock passes over the dead", fairDead},
				{"random histories", histories},
				{"never more holders than permits", permitHistories},
			} {
				t.Run(c.name, func(t *testing.T) { c.test(t, r) })
			}
		})
	}
}

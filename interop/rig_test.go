//go:build interop

package interop_test

import (
	"os"
	"strings"
	"testing"
)

// rig is what a test has: one release of Redisson in a probe, and this library.
type rig struct {
	version string
	java    peer
	latch   peer
	url     string // of the servers, where it is not the shared one
}

// newest says whether the release is the first of the list: the long tests run longer
// with it.
func (r rig) newest(t testing.TB) bool { return versions(t)[0] == r.version }

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

// bothWays runs a test twice: with Java as the one and Go as the other, and the other
// way round.
func (r rig) bothWays(t *testing.T, test func(t *testing.T, one, other peer)) {
	t.Helper()
	t.Run("Java-then-Go", func(t *testing.T) { test(t, r.java, r.latch) })
	t.Run("Go-then-Java", func(t *testing.T) { test(t, r.latch, r.java) })
}

func TestWithRedisson(t *testing.T) {
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			r := rig{version: version, java: startJava(t, version), latch: here{newLatches()}}
			for _, c := range []struct {
				name string
				test func(t *testing.T, r rig)
			}{
				{"every step leaves the same state", sameState},
				{"the queue of a fair lock is the same", sameQueue},
				{"who waits enters at the release", entersAtTheRelease},
				{"a lease that ends lets the other in", leaseEnds},
				{"force unlock lets the other in", forced},
				{"both renew side by side", renewsSideBySide},
				{"readers of both sides keep writers off", mixedReaders},
				{"a downgrade lets the readers of the other in", downgraded},
				{"a fair queue keeps its order", fairOrder},
				{"a fair lock passes over the dead", fairDead},
				{"random histories", histories},
			} {
				t.Run(c.name, func(t *testing.T) { c.test(t, r) })
			}
		})
	}
}

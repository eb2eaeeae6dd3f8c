//go:build interop

package interop_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// In a Cluster of Redis 7, Redisson listens to the shard and publishes there since 3.22, and
// before it did both in the plain way. Neither hears the other; ours hears both and is heard
// by both.
func TestWithRedissonInACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 0)
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			r := newRig(t, version)
			r.url = "redis+cluster://" + strings.Join(cluster.Addrs(), ",")
			for _, c := range []trial{
				{"who waits enters at the release", entersAtTheRelease},
				{"force unlock lets the other in", forced},
				{"a downgrade lets the readers of the other in", downgraded},
			} {
				t.Run(c.name, func(t *testing.T) { c.test(t, r) })
			}
		})
	}
}

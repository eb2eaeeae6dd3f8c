package weather_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: a slot that migrates takes the lock from no reader. Method: the lock has moved to the target,
// and the key that says until when a reader lives has not. Then a writer comes, or another reader, whose
// keys have all moved, leaves.
func TestNoReaderLosesItsLockWhileItsKeysAreOnTwoServers(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	hasty := redlatch.Config{CommandTimeout: 2 * time.Second, ReleaseTimeout: 2 * time.Second} // it fails while the keys are apart
	a, b := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{}), fixture.Open(t, fixture.ClusterURL(cluster), hasty)
	name := redistest.Name(t)
	stays, leaves := check.Must(a.RWMutex(name).RLock(t.Context())), check.Must(b.RWMutex(name).RLock(t.Context()))
	from := cluster.Master(t, name)
	to := otherMaster(t, cluster, from)
	slot := strconv.Itoa(driver.Slot(name))
	to.CLI(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.CLI(t, "CLUSTER", "MYID").(string))
	from.CLI(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.CLI(t, "CLUSTER", "MYID").(string))
	move := func(key string) {
		_, port, _ := net.SplitHostPort(to.Addr())
		if got := from.CLI(t, "MIGRATE", "127.0.0.1", port, key, "0", "5000"); got != "OK" {
			t.Fatal(got)
		}
	}
	move(name)
	if h, err := b.RWMutex(name).TryLock(t.Context()); err == nil {
		t.Errorf("%s writes beside readers", h.Owner())
	}
	move(protocol.ReadTimeoutKey(name, leaves.Owner(), 1))
	if err := leaves.Unlock(t.Context()); err == nil {
		t.Error("a release could tell that nobody else reads")
	}
	move(protocol.ReadTimeoutKey(name, stays.Owner(), 1))
	cluster.MoveSlot(t, name, to, nil)
	if err := leaves.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	status := check.Must(a.RWMutex(name).Status(t.Context()))
	if len(status.Holders) == 0 || !stays.Valid() {
		t.Errorf("the reader that stays has lost its lock: %+v", status)
	}
	if err := stays.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

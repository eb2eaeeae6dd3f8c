package redistest_test

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: what the tests of clusters rely upon. Method: one cluster goes through it all,
// since starting one takes seconds.
func TestLongClusterMovesSlotsAndFailsOver(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	c := redistest.StartCluster(t, 3, 1)
	t.Logf("ready after %v", time.Since(begin))

	from, to := c.Servers[0], c.Servers[1]
	key := c.KeyAt(t, from)
	if got := from.CLI(t, "SET", key, "value"); got != "OK" {
		t.Fatalf("SET: %v", got)
	}
	both := false
	c.MoveSlot(t, key, to, func() {
		_, moved := to.CLI(t, "GET", key).(redistest.ServerError)
		both = moved && from.CLI(t, "GET", key) == "value"
	})
	if !both {
		t.Error("before the first key went, the slot was not where it had been")
	}
	if c.Master(t, key) != to || to.CLI(t, "GET", key) != "value" {
		t.Errorf("slot %d did not arrive with its key", driver.Slot(key))
	}

	next := c.FailOver(t, key)
	c.AwaitReady(t)
	if next == to || next.CLI(t, "GET", key) != "value" {
		t.Errorf("%s took over from %s without the key", next.Addr(), to.Addr())
	}

	killed := time.Now()
	next.Kill()
	if again := c.AwaitNewMaster(t, key, next); again != to {
		t.Errorf("%s took over, want %s", again.Addr(), to.Addr())
	}
	t.Logf("another master %v after the death of the first", time.Since(killed))
	next.Restart(t)
	c.AwaitReady(t)
	if c.Replica(t, key) != next {
		t.Error("the old master did not come back as a replica")
	}
}

package watchdog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// connectCluster connects to a cluster until the end of the test.
func connectCluster(t *testing.T, c *redistest.Cluster) *cluster.Driver {
	t.Helper()
	d := redistest.Must(cluster.Open(context.Background(), cluster.Options{
		Addresses: c.Addrs(),
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			return rueidis.Open(ctx, rueidis.Options{Address: address})
		},
	}))
	t.Cleanup(d.Close)
	return d
}

// nameAt makes a name of which make makes a key that lies on one of the servers, or not on it.
func nameAt(d driver.Sharded, at *redistest.Server, there bool, make func(name string) string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprint("n", i); (d.Shard(make(name)) == at.Addr()) == there {
			return name
		}
	}
}

// Goal: a shard that does not answer costs nobody anything but what it has. Method: of three
// masters one is frozen, with the sessions of 1,500 paused clients on it. A client elsewhere
// must keep its locks, though it has one on the frozen shard as well, and the watchdog must
// not count itself out.
func TestLongAFrozenShardHoldsUpNobodyElse(t *testing.T) { // alone: it keeps the machine busy
	c := redistest.StartCluster(t, 3, 0)
	d := connectCluster(t, c)
	const paused = 1500
	frozen := c.Servers[0]
	if d.Shard(protocol.Sessions) == frozen.Addr() {
		frozen = c.Servers[1]
	}
	healthy := newClientAt(t, d, frozen, false)
	var locks []string
	for i := range 10 {
		locks = append(locks, nameAt(d, frozen, false, func(name string) string { return fmt.Sprint(i, "-", name) }))
		locks[i] = fmt.Sprint(i, "-", locks[i])
	}
	others := newClientAt(t, d, frozen, true)
	var calls []script.Call
	var channels []string
	for i, n := 0, 0; n < paused; i++ {
		if id := fmt.Sprint("client-", i); d.Shard(protocol.SessionKey(id)) == frozen.Addr() {
			channels = append(channels, protocol.PulseChannel(id, pulse))
			calls = append(calls, script.SessionTouch(id, sessionTTL, pulse), script.SessionHeartbeat(id, overdueIn))
			n++
		}
	}
	others.subscribe(channels...)
	others.send(calls...)
	for _, lock := range locks {
		healthy.hold(lock, lease)
	}
	healthy.hold(nameAt(d, frozen, true, func(name string) string { return name }), lease)
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Stalled == paused }, "all but the healthy one are found")
	frozen.Freeze()
	defer frozen.Thaw()
	healthy.heartbeat()
	lasts(t, 3*lease, func() bool {
		for _, lock := range locks {
			if d.Do(t.Context(), driver.Command{Words: []string{"EXISTS", lock}, Key: lock}).Int != 1 {
				t.Error(lock, "is gone")
				return false
			}
		}
		return w.Stats().Watchdogs == 1
	}, "the locks elsewhere live, and the watchdog counts")
	if s := w.Stats(); s.Failures == 0 {
		t.Error("no failure was counted: this test tests nothing")
	}
}

// newClientAt makes a client whose session lies on a server, or elsewhere.
func newClientAt(t *testing.T, d *cluster.Driver, at *redistest.Server, there bool) *client {
	t.Helper()
	for {
		c := newClient(t, d)
		if (d.Shard(protocol.SessionKey(c.id)) == at.Addr()) == there {
			return c
		}
		c.die()
	}
}

// Goal: a slot that moves during a pause does not look like death, and death looks like
// death nevertheless. Method: the pulse stays where a process that stands still has it.
func TestLongAPulseIsFoundWhereItsSlotHasBeen(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	d := connectCluster(t, c)
	home := c.Master(t, protocol.Sessions)
	from, to := c.Servers[0], c.Servers[1]
	if home == from {
		from = c.Servers[2]
	}
	client := newClientBy(t, d, connect(t, from.Addr()))
	for c.Master(t, protocol.SessionKey(client.id)) != from {
		client.die()
		client = newClientBy(t, d, connect(t, from.Addr()))
	}
	const long = 4 * time.Second
	client.hold("job", long)
	c.MoveSlot(t, protocol.SessionKey(client.id), to, nil)
	client.hold("job", long)
	client.heartbeat()
	w := run(t, d, watchdog.Config{})
	lasts(t, 2*long, func() bool {
		return d.Do(t.Context(), driver.Command{Words: []string{"EXISTS", "job"}, Key: "job"}).Int == 1
	}, "the lock lives")
	client.die()
	eventually(t, func() bool { return w.Stats().Dead == 1 }, "its death is seen")
}

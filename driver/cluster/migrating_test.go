package cluster_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// incr is a script with one key, as locks send them.
func incr(key string) driver.Command {
	return driver.Command{Words: []string{"EVAL", "return redis.call('incr', KEYS[1])", "1", key}, Key: key}
}

// migrate moves one key of a migrating slot.
func migrate(t *testing.T, from, to *redistest.Server, key string) {
	t.Helper()
	_, port, _ := net.SplitHostPort(to.Addr())
	if got := from.CLI(t, "MIGRATE", "127.0.0.1", port, key, "0", "5000"); got != "OK" {
		t.Fatalf("move %s: %v", key, got)
	}
}

// shardPublish publishes in the shard of a server that the slot may be
// migrating to.
func shardPublish(t *testing.T, s *redistest.Server, channel, payload string) {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: s.Addr()}))
	defer d.Close()
	replies := d.Pipeline(t.Context(),
		driver.Command{Words: []string{"ASKING"}}, driver.Command{Words: []string{"SPUBLISH", channel, payload}})
	if replies[1].Err != nil {
		t.Fatal(replies[1].Err)
	}
}

// increment increments several keys of a migrating slot 300 times: one that was moved, one that
// stays, and new ones, alone and in a pipeline. The first two have the value 1 before.
func increment(t *testing.T, d driver.Driver, home string) {
	t.Helper()
	key := func(name string) string { return "{" + home + "}" + name }
	for i := range 300 {
		for _, name := range []string{"moved", "stays"} {
			if reply := d.Do(t.Context(), incr(key(name))); reply.Int != int64(2+i) {
				t.Fatalf("%s, the %dth time: %+v", name, i, reply)
			}
		}
		if reply := d.Do(t.Context(), incr(key("new"+strconv.Itoa(i)))); reply.Int != 1 {
			t.Fatalf("a new key: %+v", reply)
		}
		replies := d.Pipeline(t.Context(), incr(key("piped")), incr(key("piped")), incr(home))
		if replies[0].Int != int64(1+2*i) || replies[1].Int != int64(2+2*i) || replies[2].Int != int64(1+i) {
			t.Fatalf("a pipeline: %+v", replies)
		}
	}
}

// Goal: a migrating slot delays neither scripts nor waiters. Method: one migrates for
// seconds. A key is moved, others stay, others are new; what is published at the target,
// and nowhere else, has to arrive at a listener that was there before.
func TestLongASlotStaysOpen(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	from, to := c.Servers[0], c.Servers[1]
	home := c.KeyAt(t, from)
	key := func(name string) string { return "{" + home + "}" + name }
	d, idle := open(t, from.Addr()), open(t, from.Addr()) // the second sends no commands
	channel := key("channel")
	r, quiet := listenAndWait(t, d, channel), listenAndWait(t, idle, channel)
	for _, name := range []string{"moved", "stays"} {
		if reply := d.Do(t.Context(), incr(key(name))); reply.Int != 1 {
			t.Fatalf("%+v", reply)
		}
	}
	c.MoveSlot(t, home, to, func() {
		migrate(t, from, to, key("moved"))
		began := time.Now()
		increment(t, d, home)
		for _, rec := range []*drivercheck.Recorder{r, quiet} {
			redistest.Eventually(t, disturbed, func() bool {
				shardPublish(t, to, channel, "target")
				return rec.Count(channel+" target") > 0
			}, "what is published at the target arrives")
			t.Logf("received %v after the migration began", time.Since(began))
			if rec.Count("+"+channel) < 2 {
				t.Error("the receiver was not told that messages may have been missed")
			}
			shardPublish(t, from, channel, "source")
			rec.Await(t, channel+" source", 1)
		}
		// Or what is published to all servers would arrive twice.
		if n := to.CLI(t, "PUBSUB", "NUMSUB", channel).([]any)[1]; n != int64(0) {
			t.Errorf("%v plain subscriptions at the target", n)
		}
		publishBoth(t, d, channel, "both")
		for _, rec := range []*drivercheck.Recorder{r, quiet} {
			rec.Await(t, channel+" both-all", 1)
			if n := rec.Count(channel + " both-all"); n != 1 {
				t.Errorf("a message to all servers arrived %d times", n)
			}
		}
	})
	redistest.Eventually(t, soon, func() bool { return d.Do(t.Context(), incr(key("moved"))).Err == nil }, "the slot has moved")
	for _, rec := range []*drivercheck.Recorder{r, quiet} {
		redistest.Eventually(t, soon, func() bool {
			shardPublish(t, to, channel, "moved")
			return rec.Count(channel+" moved") > 0
		}, "the target is subscribed to after the move")
	}
}

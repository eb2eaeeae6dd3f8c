package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/internal/redistest"
)

// recorder is a listener and what it has received, as lines: "+channel" and "channel payload".
type recorder struct {
	driver.Listener
	mu    sync.Mutex
	lines []string
}

// listenAndWait listens to channels, and waits until they are acknowledged.
func listenAndWait(t *testing.T, d *cluster.Driver, channels ...string) *recorder {
	t.Helper()
	r := listen(t, d, channels...)
	for _, channel := range channels {
		r.await(t, "+"+channel, 1)
	}
	return r
}

// listen listens to channels, and waits for nothing.
func listen(t *testing.T, d *cluster.Driver, channels ...string) *recorder {
	t.Helper()
	r := &recorder{}
	l, err := d.Listen(t.Context(), driver.Events{
		Subscribed: func(channel string) { r.add("+" + channel) },
		Message:    func(channel, payload string) { r.add(channel + " " + payload) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	r.Listener = l
	if err := l.Subscribe(t.Context(), channels...); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *recorder) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) count(line string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lines {
		if l == line {
			n++
		}
	}
	return n
}

// await waits until a line is there for the nth time.
func (r *recorder) await(t *testing.T, line string, n int) {
	t.Helper()
	redistest.Eventually(t, later, func() bool { return r.count(line) >= n }, fmt.Sprintf("%q for the %dth time", line, n))
}

// reset forgets what was received.
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = nil
}

// publishBoth publishes in both ways, by one script.
func publishBoth(t *testing.T, d driver.Driver, channel, payload string) {
	t.Helper()
	script := driver.Command{Words: []string{"EVAL", `
		redis.call('spublish', KEYS[1], ARGV[1] .. '-shard')
		redis.call('publish', KEYS[1], ARGV[1] .. '-all')`, "1", channel, payload}, Key: channel}
	redistest.Eventually(t, soon, func() bool { return d.Do(t.Context(), script).Err == nil }, "the script runs")
}

// receives checks that both messages arrive once, in their order, on every channel.
func (r *recorder) receives(t *testing.T, d driver.Driver, payload string, channels ...string) {
	t.Helper()
	for _, channel := range channels {
		publishBoth(t, d, channel, payload)
		r.await(t, channel+" "+payload+"-all", 1)
		r.mu.Lock()
		shard := slices.Index(r.lines, channel+" "+payload+"-shard")
		all := slices.Index(r.lines, channel+" "+payload+"-all")
		r.mu.Unlock()
		if shard < 0 || shard > all || r.count(channel+" "+payload+"-all") != 1 || r.count(channel+" "+payload+"-shard") != 1 {
			t.Errorf("channel %s: the script's messages did not arrive once and in their order: %q", channel, r.lines)
		}
	}
}

// channelsAt returns a channel at each master.
func channelsAt(t *testing.T, c *redistest.Cluster, masters int) (channels []string) {
	t.Helper()
	for _, s := range c.Servers[:masters] {
		channels = append(channels, c.KeyAt(t, s))
	}
	return channels
}

func TestBothWaysToPublishAreHeardFromEveryServer(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	d := open(t, c.Servers[0].Addr())
	channels := channelsAt(t, c, 3)
	r := listenAndWait(t, d, channels...)
	r.receives(t, d, "one", channels...)

	if err := r.Unsubscribe(t.Context(), channels[0]); err != nil {
		t.Fatal(err)
	}
	awaitListeners(t, c.Servers[0], channels[0], 0)
	r.reset()
	publishBoth(t, d, channels[0], "lost")
	r.receives(t, d, "two", channels[1:]...)
	if r.count(channels[0]+" lost-all")+r.count(channels[0]+" lost-shard") > 0 {
		t.Error("messages of an unsubscribed channel arrive")
	}
	if err := r.Subscribe(t.Context(), channels[0]); err != nil {
		t.Fatal(err)
	}
	r.await(t, "+"+channels[0], 1)
	r.receives(t, d, "three", channels...)

	r.Close()
	for i, channel := range channels {
		awaitListeners(t, c.Servers[i], channel, 0)
	}
}

// awaitListeners waits until a server has so many subscriptions to a channel, in each way.
func awaitListeners(t *testing.T, s *redistest.Server, channel string, want int64) {
	t.Helper()
	redistest.Eventually(t, soon, func() bool {
		all := s.CLI(t, "PUBSUB", "NUMSUB", channel).([]any)[1]
		shard := s.CLI(t, "PUBSUB", "SHARDNUMSUB", channel).([]any)[1]
		return all == want && shard == want
	}, fmt.Sprintf("%d subscriptions to %s", want, channel))
}

// Goal: whatever happens to subscriptions, they come back by themselves, and the
// receiver learns of it. Method: all of that happens to one cluster, one after another.
func TestLongSubscriptionsSurvive(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 1)
	d := open(t, c.Servers[0].Addr())
	channels := channelsAt(t, c, 3)
	r := listenAndWait(t, d, channels...)
	r.receives(t, d, "zero", channels...)
	victim := channels[0]

	t.Run("the end of a connection", func(t *testing.T) {
		r.reset()
		c.Master(t, victim).CLI(t, "CLIENT", "KILL", "TYPE", "pubsub")
		r.await(t, "+"+victim, 1)
		r.receives(t, d, "connection", channels...)
		r.undisturbed(t, channels[1:])
	})
	t.Run("a move of the slot", func(t *testing.T) {
		r.reset()
		old := c.Master(t, victim)
		c.MoveSlot(t, victim, c.Servers[1], nil)
		r.await(t, "+"+victim, 1)
		r.receives(t, d, "move", channels...)
		r.undisturbed(t, channels[1:])
		awaitListeners(t, old, victim, 0)
	})
	t.Run("an orderly failover", func(t *testing.T) {
		r.reset()
		c.FailOver(t, victim)
		r.await(t, "+"+victim, 1)
		r.await(t, "+"+channels[1], 1) // of the same server by now
		r.receives(t, d, "failover", channels...)
		r.undisturbed(t, channels[2:])
		c.AwaitReady(t)
	})
	t.Run("the death of the server", func(t *testing.T) {
		r.reset()
		dead := c.Master(t, victim)
		dead.Kill()
		c.AwaitNewMaster(t, victim, dead)
		r.await(t, "+"+victim, 1)
		r.await(t, "+"+channels[1], 1)
		r.receives(t, d, "death", channels...)
		r.undisturbed(t, channels[2:])
	})
}

// undisturbed checks that channels were not subscribed to again.
func (r *recorder) undisturbed(t *testing.T, channels []string) {
	t.Helper()
	for _, channel := range channels {
		if r.count("+"+channel) > 0 {
			t.Errorf("%s was subscribed again, for nothing: %s", channel, strings.Join(r.lines, ", "))
		}
	}
}

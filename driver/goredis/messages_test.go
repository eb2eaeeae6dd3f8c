package goredis_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// recorder is a listener and what it has received, as lines: "+channel" and "channel payload".
type recorder struct {
	driver.Listener
	mu    sync.Mutex
	lines []string
}

// listenAndWait listens to channels, and waits until they are acknowledged.
func listenAndWait(t *testing.T, d driver.Driver, channels ...string) *recorder {
	t.Helper()
	r := &recorder{}
	r.Listener = listen(t, d, driver.Events{
		Subscribed: func(channel string) { r.add("+" + channel) },
		Message:    func(channel, payload string) { r.add(channel + " " + payload) },
	})
	if err := r.Subscribe(t.Context(), channels...); err != nil {
		t.Fatal(err)
	}
	for _, channel := range channels {
		r.await(t, "+"+channel, 1)
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

// receives checks that what one script publishes in both ways arrives once, in its order, on every
// channel.
func (r *recorder) receives(t *testing.T, d driver.Driver, payload string, channels ...string) {
	t.Helper()
	for _, channel := range channels {
		script := driver.Command{Words: []string{"EVAL", `
			redis.call('spublish', KEYS[1], ARGV[1] .. '-shard')
			redis.call('publish', KEYS[1], ARGV[1] .. '-all')`, "1", channel, payload}, Key: channel}
		redistest.Eventually(t, soon, func() bool { return d.Do(t.Context(), script).Err == nil }, "the script runs")
		r.await(t, channel+" "+payload+"-all", 1)
		r.mu.Lock()
		shard, all := slices.Index(r.lines, channel+" "+payload+"-shard"), slices.Index(r.lines, channel+" "+payload+"-all")
		r.mu.Unlock()
		if shard < 0 || shard > all || r.count(channel+" "+payload+"-all") != 1 || r.count(channel+" "+payload+"-shard") != 1 {
			t.Errorf("channel %s: the script's messages did not arrive once and in their order: %q", channel, r.lines)
		}
	}
}

// channelsAt returns a channel at each of the first masters.
func channelsAt(t *testing.T, c *redistest.Cluster, masters int) (channels []string) {
	t.Helper()
	for _, s := range c.Servers[:masters] {
		channels = append(channels, c.KeyAt(t, s))
	}
	return channels
}

// Goal: whatever happens to subscriptions in a cluster, they come back by themselves, the receiver
// learns of it, and messages of both kinds arrive. Method: all of that happens, one after another.
func TestLongSubscriptionsSurvive(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.StartCluster(t, 3, 1)
			d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs(), Protocol: protocol}))
			channels := channelsAt(t, c, 3)
			r := listenAndWait(t, d, channels...)
			r.receives(t, d, "zero", channels...)
			victim := channels[0]
			for _, e := range []struct {
				name   string
				happen func()
			}{
				{"connection", func() { c.Master(t, victim).CLI(t, "CLIENT", "KILL", "TYPE", "pubsub") }},
				{"move", func() { c.MoveSlot(t, victim, c.Servers[1], nil) }},
				{"failover", func() { c.FailOver(t, victim) }},
				{"death", func() {
					c.AwaitReady(t)
					dead := c.Master(t, victim)
					dead.Kill()
					c.AwaitNewMaster(t, victim, dead)
				}},
			} {
				r.reset()
				e.happen()
				r.await(t, "+"+victim, 1)
				r.receives(t, d, e.name, channels...)
			}
		})
	}
}

// Goal: each server has one subscription connection of a listener, however many channels.
func TestOneSubscriptionConnectionANode(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	d := open(t, clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}))
	var channels []string
	for i := range 100 {
		channels = append(channels, fmt.Sprint("channel", i))
	}
	listenAndWait(t, d, channels...)
	for _, s := range c.Servers {
		if n := s.CLI(t, "CLIENT", "LIST", "TYPE", "pubsub").(string); countLines(n) != 1 {
			t.Errorf("%d subscription connections, want 1", countLines(n))
		}
	}
}

func countLines(text string) (n int) {
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}

// Goal: a server that a slot has left ends its subscriptions and refuses new ones, and the receiver hears
// of both. A subscription that the receiver ends itself is no eviction.
func TestASlotThatLeavesEvictsItsChannels(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	channel, from := c.KeyAt(t, c.Servers[0]), c.Servers[0]
	other := "{" + channel + "}other"
	n := goredis.NewNode(clusterClient(t, redis.ClusterOptions{Addrs: c.Addrs()}), from.Addr(), dial(t, &redis.Options{Addr: from.Addr()}))
	t.Cleanup(n.Close)
	r := &recorder{}
	l := listen(t, n, driver.Events{
		Subscribed: func(channel string) { r.add("+" + channel) }, Evicted: func(channel string) { r.add("-" + channel) },
	}).(driver.ShardListener)
	for range 100 { // an acknowledgement may come after the next request was sent
		if err := l.SubscribeShard(t.Context(), channel, other); err != nil {
			t.Fatal(err)
		}
		if err := l.UnsubscribeShard(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	c.MoveSlot(t, channel, c.Servers[1], nil)
	r.await(t, "-"+channel, 1)
	if n := r.count("-" + other); n > 0 {
		t.Errorf("%d evictions of a channel that was left", n)
	}
	var refused *driver.ServerError
	if err := l.SubscribeShard(t.Context(), channel); !errors.As(err, &refused) || refused.Code() != "MOVED" {
		t.Errorf("error %v, want MOVED", err)
	}
	if err := l.UnsubscribeShard(t.Context(), channel); err != nil { // refused, which nobody waits for
		t.Error(err)
	}
	if err := l.Subscribe(t.Context(), channel); err != nil {
		t.Errorf("an ordinary subscription: %v", err)
	}
}

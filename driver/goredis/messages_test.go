package goredis_test

import (
	"errors"
	"fmt"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

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
			r.Receives(t, d, "zero", channels...)
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
				r.Reset()
				e.happen()
				r.Await(t, "+"+victim, 1)
				r.Receives(t, d, e.name, channels...)
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
	r := &drivercheck.Recorder{}
	l := listen(t, n, driver.Events{
		Subscribed: func(channel string) { r.Add("+" + channel) }, Evicted: func(channel string) { r.Add("-" + channel) },
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
	r.Await(t, "-"+channel, 1)
	if n := r.Count("-" + other); n > 0 {
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

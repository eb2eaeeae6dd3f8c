package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestBothWaysToPublishAreHeardFromEveryServer(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	d := open(t, c.Servers[0].Addr())
	channels := channelsAt(t, c, 3)
	r := listenAndWait(t, d, channels...)
	r.Receives(t, d, "one", channels...)

	if err := r.Unsubscribe(t.Context(), channels[0]); err != nil {
		t.Fatal(err)
	}
	awaitListeners(t, c.Servers[0], channels[0], 0)
	r.Reset()
	publishBoth(t, d, channels[0], "lost")
	r.Receives(t, d, "two", channels[1:]...)
	if r.Count(channels[0]+" lost-all")+r.Count(channels[0]+" lost-shard") > 0 {
		t.Error("messages of an unsubscribed channel arrive")
	}
	if err := r.Subscribe(t.Context(), channels[0]); err != nil {
		t.Fatal(err)
	}
	r.Await(t, "+"+channels[0], 1)
	r.Receives(t, d, "three", channels...)

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
	r.Receives(t, d, "zero", channels...)
	victim := channels[0]

	t.Run("the end of a connection", func(t *testing.T) {
		r.Reset()
		c.Master(t, victim).CLI(t, "CLIENT", "KILL", "TYPE", "pubsub")
		r.Await(t, "+"+victim, 1)
		r.Receives(t, d, "connection", channels...)
		undisturbed(t, r, channels[1:])
	})
	t.Run("a move of the slot", func(t *testing.T) {
		r.Reset()
		old := c.Master(t, victim)
		c.MoveSlot(t, victim, c.Servers[1], nil)
		r.Await(t, "+"+victim, 1)
		r.Receives(t, d, "move", channels...)
		undisturbed(t, r, channels[1:])
		awaitListeners(t, old, victim, 0)
	})
	t.Run("an orderly failover", func(t *testing.T) {
		r.Reset()
		c.FailOver(t, victim)
		r.Await(t, "+"+victim, 1)
		r.Await(t, "+"+channels[1], 1) // of the same server by now
		r.Receives(t, d, "failover", channels...)
		undisturbed(t, r, channels[2:])
		c.AwaitReady(t)
	})
	t.Run("the death of the server", func(t *testing.T) {
		r.Reset()
		dead := c.Master(t, victim)
		dead.Kill()
		c.AwaitNewMaster(t, victim, dead)
		r.Await(t, "+"+victim, 1)
		r.Await(t, "+"+channels[1], 1)
		r.Receives(t, d, "death", channels...)
		undisturbed(t, r, channels[2:])
	})
}

// undisturbed checks that channels were not subscribed to again.
func undisturbed(t *testing.T, r *drivercheck.Recorder, channels []string) {
	t.Helper()
	for _, channel := range channels {
		if r.Count("+"+channel) > 0 {
			t.Errorf("%s was subscribed again, for nothing: %s", channel, strings.Join(r.Lines(), ", "))
		}
	}
}

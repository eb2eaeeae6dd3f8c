package weather_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// kinds are the ways to hold a lock exclusively.
var kinds = map[string]func(c *redlatch.Client, name string) redlatch.Lock{
	"mutex": func(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) },
	"fair":  func(c *redlatch.Client, name string) redlatch.Lock { return c.FairMutex(name) },
	"write": func(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name) },
}

// Goal: in a cluster, a waiter of another process is told, whatever kind of lock it waits
// for and wherever that is.
func TestEveryKindOfLockWakesItsWaitersInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	cfg := redlatch.Config{PollCap: time.Minute}
	a, b := fixture.Open(t, fixture.ClusterURL(cluster), cfg), fixture.Open(t, fixture.ClusterURL(cluster), cfg)
	for kind, lock := range kinds {
		for i := range 6 {
			name := fmt.Sprint(redistest.Name(t), kind, i)
			h := check.Must(lock(a, name).Lock(t.Context(), redlatch.WithFencing()))
			_, err := lock(b, name).TryLock(t.Context())
			check.Is(t, kind, err, redlatch.ErrNotAcquired)
			entered := make(chan *redlatch.Hold)
			go func() { entered <- check.Must(lock(b, name).Lock(t.Context(), redlatch.WithFencing())) }()
			redistest.Eventually(t, 10*time.Second, func() bool { return listens(t, cluster, name) }, "the other waits")
			began := time.Now()
			if err := h.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			second := <-entered
			check.Within(t, kind+": the way to the other", time.Since(began), 0, 5*time.Second)
			if second.Token() != h.Token()+1 {
				t.Errorf("%s: token %d follows %d", kind, second.Token(), h.Token())
			}
			if err := second.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// listens says that somebody has subscribed to a channel of a lock.
func listens(t *testing.T, cluster *redistest.Cluster, name string) bool {
	t.Helper()
	return slices.ContainsFunc(cluster.Servers, func(s *redistest.Server) bool {
		for _, which := range []string{"CHANNELS", "SHARDCHANNELS"} {
			if len(s.CLI(t, "PUBSUB", which, "*"+name+"*").([]any)) > 0 {
				return true
			}
		}
		return false
	})
}

// Goal: each name that a cluster cannot have is refused by every kind, with the reason, and
// no other is.
func TestNamesWhoseKeysLeaveTheSlotAreRefusedInACluster(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, fixture.ClusterURL(redistest.StartCluster(t, 3, 0)), redlatch.Config{})
	for _, name := range []string{"a{b", "x{}y", "a}b", "}", "{", "}{"} {
		for kind, lock := range kinds {
			_, err := lock(c, name).TryLock(t.Context())
			check.Is(t, kind, err, redlatch.ErrInvalidName)
			if !strings.Contains(err.Error(), "between the first { and the next }") {
				t.Errorf("%q: the error %q does not explain braces", name, err)
			}
		}
	}
	for _, name := range []string{"a", "order:1001", "{a}b", "a{b}c", "größe 1", "{a}{b"} {
		for kind, lock := range kinds {
			h, err := lock(c, name).Lock(t.Context(), redlatch.WithFencing())
			if err != nil {
				t.Errorf("%s %q: %v", kind, name, err)
				continue
			}
			if err := h.Unlock(t.Context()); err != nil {
				t.Errorf("%s %q: %v", kind, name, err)
			}
		}
	}
}

// contest has goroutines of several clients go through one lock until stop is closed.
func contest(t *testing.T, clients []*redlatch.Client, lock func(c *redlatch.Client) redlatch.Lock, rounds *atomic.Int64, stop <-chan struct{}) {
	goRound(t, clients, 1, rounds, stop, func(c *redlatch.Client) (func() error, error) {
		h, err := lock(c).Lock(t.Context())
		return func() error { return h.Unlock(t.Context()) }, err
	})
}

// Goal: a slot that moves to another server, and its locks with it, costs nobody a hold and
// nobody an error.
func TestSlotsMoveUnderContendedLocks(t *testing.T) {
	t.Parallel()
	slotsMove(t, func(cluster *redistest.Cluster, name string, to *redistest.Server) {
		cluster.MoveSlot(t, name, to, nil)
	})
}

// Goal: the same for a slot that moves at once.
func TestSlotsMoveAtomicallyUnderContendedLocks(t *testing.T) {
	t.Parallel()
	slotsMove(t, func(cluster *redistest.Cluster, name string, to *redistest.Server) {
		cluster.MoveSlotAtomically(t, name, to)
	})
}

func slotsMove(t *testing.T, move func(cluster *redistest.Cluster, name string, to *redistest.Server)) {
	t.Helper()
	cluster := redistest.StartCluster(t, 2, 0)
	cfg := redlatch.Config{CommandTimeout: 20 * time.Second, ReleaseTimeout: 20 * time.Second, LeaseTime: time.Minute}
	clients := []*redlatch.Client{fixture.Open(t, fixture.ClusterURL(cluster), cfg), fixture.Open(t, fixture.ClusterURL(cluster), cfg)}
	for kind, lock := range kinds {
		name := redistest.Name(t) + kind
		held := check.Must(lock(clients[0], name+"-held{"+name+"}").Lock(t.Context()))
		first := cluster.Master(t, name)
		other := cluster.Master(t, cluster.KeyAt(t, otherMaster(t, cluster, first)))
		move(cluster, name, other) // it may skip the test
		first, other = other, first
		stop, over := make(chan struct{}), make(chan struct{})
		var rounds atomic.Int64
		go func() {
			defer close(over)
			contest(t, clients, func(c *redlatch.Client) redlatch.Lock { return lock(c, name) }, &rounds, stop)
		}()
		for range 3 {
			before := rounds.Load()
			redistest.Eventually(t, 20*time.Second, func() bool { return rounds.Load() > before+3 || t.Failed() }, "the lock goes round")
			move(cluster, name, other)
			first, other = other, first
		}
		close(stop)
		<-over
		if err := held.Unlock(t.Context()); err != nil {
			t.Errorf("%s: a hold that stayed: %v", kind, err)
		}
	}
}

// Goal: replicas confirm a hold while the slot of its lock moves.
func TestReplicasConfirmAHoldWhoseSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 1)
	c := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{CommandTimeout: time.Second})
	name := redistest.Name(t)
	cluster.MoveSlot(t, name, otherMaster(t, cluster, cluster.Master(t, name)), func() {
		h, err := c.Mutex(name).Lock(t.Context(), redlatch.WithReplicas(1, 5*time.Second))
		check.Is(t, "Lock", err, nil)
		if h != nil {
			check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
		}
	})
}

func otherMaster(t *testing.T, cluster *redistest.Cluster, than *redistest.Server) *redistest.Server {
	t.Helper()
	for i := range 1000 {
		if m := cluster.Master(t, fmt.Sprint("probe", i)); m != than {
			return m
		}
	}
	t.Fatal("there is one master only")
	return nil
}

// Goal: a shard that is down costs the holds of the others nothing, and its own live on
// with the replica that takes over, if that had them.
func TestLongAShardThatFailsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 3)
	c := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{LeaseTime: 10 * time.Second, RenewInterval: 500 * time.Millisecond})
	doomed := cluster.Master(t, redistest.Name(t))
	var there, elsewhere []*redlatch.Hold
	for i := range 60 {
		name := fmt.Sprint(redistest.Name(t), i)
		h := check.Must(c.Mutex(name).Lock(t.Context(), redlatch.WithReplicas(1, 5*time.Second)))
		if cluster.Master(t, name) == doomed {
			there = append(there, h)
		} else {
			elsewhere = append(elsewhere, h)
		}
	}
	deadlines := func(holds []*redlatch.Hold) (all []time.Time) {
		for _, h := range holds {
			all = append(all, h.Deadline())
		}
		return all
	}
	before := deadlines(there)
	doomed.Freeze() // and not dead, which would be noticed at once
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for began := time.Now(); time.Since(began) < 3*time.Second; {
		now := <-look.C
		for _, at := range deadlines(elsewhere) {
			if left := at.Sub(now); left < 7500*time.Millisecond {
				t.Fatalf("a hold of another shard is renewed so late that %v are left", left)
			}
		}
	}
	redistest.Eventually(t, 8*time.Second, func() bool {
		for i, at := range deadlines(there) {
			if !at.After(before[i].Add(time.Second)) {
				return false
			}
		}
		return true
	}, "the new master has renewed the holds of its shard")
	for _, h := range append(there, elsewhere...) {
		if err := h.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, server := range cluster.Servers {
		if server != doomed && strings.Contains(server.CLI(t, "INFO", "errorstats").(string), "CROSSSLOT") {
			t.Error("locks of several slots were renewed by one script")
		}
	}
}

// Goal: in a cluster a release is heard in the shard, and by old peers once more.
func TestReleasesAreAnnouncedToShardsAndOldPeers(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	for oldest, want := range map[string][]string{"": {"S0", "P00"}, "3.21.9": {"S0", "P00"}, "3.22.0": {"S0"}, "none": {"S0"}} {
		name := redistest.Name(t)
		channel := "redisson_lock__channel:{" + name + "}"
		d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: cluster.Master(t, name).Addr()}))
		defer d.Close()
		got := make(chan string, 10)
		subscribe := func(how string, ask func(l driver.ShardListener) error) {
			ready := make(chan struct{})
			l := check.Must(d.Listen(t.Context(), driver.Events{
				Subscribed: func(string) { close(ready) },
				Message:    func(_, payload string) { got <- how + payload },
			}))
			t.Cleanup(l.Close)
			if err := ask(l.(driver.ShardListener)); err != nil {
				t.Fatal(err)
			}
			<-ready
		}
		subscribe("S", func(l driver.ShardListener) error { return l.SubscribeShard(t.Context(), channel) })
		subscribe("P", func(l driver.ShardListener) error { return l.Subscribe(t.Context(), channel) })
		c := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{OldestPeer: oldest})
		if err := check.Must(c.Mutex(name).Lock(t.Context())).Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"SPUBLISH", "PUBLISH"} { // behind what was published before
			if reply := d.Do(t.Context(), driver.Command{Words: []string{verb, channel, "end"}}); reply.Err != nil {
				t.Fatal(reply.Err)
			}
		}
		var heard []string
		for ends := 0; ends < 2; {
			if message := <-got; strings.HasSuffix(message, "end") {
				ends++
			} else {
				heard = append(heard, message)
			}
		}
		slices.Sort(heard)
		slices.Reverse(heard)
		if !slices.Equal(heard, want) {
			t.Errorf("oldest peer %q: heard %q, want %q", oldest, heard, want)
		}
	}
}

// Goal: closing a client releases what it holds in every shard.
func TestCloseReleasesTheHoldsOfEveryShard(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	c, other := check.Must(redlatch.Open(t.Context(), fixture.ClusterURL(cluster), fixture.Quiet(redlatch.Config{}))), fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{})
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint(redistest.Name(t), i))
		check.Must(c.Mutex(names[i]).Lock(t.Context()))
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if h, err := other.Mutex(name).TryLock(t.Context()); err != nil {
			t.Error(err)
		} else if err := h.Unlock(t.Context()); err != nil {
			t.Error(errors.Unwrap(err))
		}
	}
}

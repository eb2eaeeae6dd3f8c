package watchdog_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/watchdog"
)

// divided is one server that plays two, with half of the slots each.
type divided struct {
	driver.Driver
	crossed atomic.Bool // somebody asked for keys of two slots at once
	down    atomic.Bool // the odd one does not answer
	odd     atomic.Int64
}

func (d *divided) Shard(key string) string { return strconv.Itoa(driver.Slot(key) % 2) }
func (d *divided) ShardMessages() bool     { return false }

var errDown = fmt.Errorf("the odd server is down: %w", driver.ErrNotSent)

// Pipeline asks the servers side by side, as a cluster's driver does.
func (d *divided) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	var asking sync.WaitGroup
	for server := range 2 {
		var at []int
		var part []driver.Command
		for i, command := range commands {
			if driver.Slot(command.Key)%2 == server {
				at, part = append(at, i), append(part, command)
			}
			d.check(command)
		}
		asking.Go(func() {
			for i, reply := range d.ask(ctx, server, part) {
				replies[at[i]] = reply
			}
		})
	}
	asking.Wait()
	return replies
}

func (d *divided) ask(ctx context.Context, server int, part []driver.Command) []driver.Reply {
	if server == 1 && d.down.Load() {
		return slices.Repeat([]driver.Reply{{Err: errDown}}, len(part))
	}
	if server == 1 {
		d.odd.Add(int64(len(part)))
	}
	return d.Driver.Pipeline(ctx, part...)
}

// check does what a cluster does with keys of several slots.
func (d *divided) check(command driver.Command) {
	words := command.Words
	if words[0] != "EVALSHA" && words[0] != "EVAL" {
		return
	}
	keys, _ := strconv.Atoi(words[2])
	for _, key := range words[3 : 3+keys] {
		if driver.Slot(key) != driver.Slot(command.Key) {
			d.crossed.Store(true)
		}
	}
}

func (d *divided) Do(ctx context.Context, command driver.Command) driver.Reply {
	return d.Pipeline(ctx, command)[0]
}

var _ driver.Sharded = (*divided)(nil)

// on makes a name whose key lies on one of the two servers.
func on(server int, name string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("%s-%d", name, i); driver.Slot(key)%2 == server {
			return key
		}
	}
}

// clientOn makes a client whose session lies on one of the two.
func clientOn(t *testing.T, d driver.Driver, server int) *client {
	t.Helper()
	for {
		if c := newClient(t, d); driver.Slot(protocol.SessionKey(c.id))%2 == server {
			return c
		}
	}
}

// Goal: in a cluster no request touches two slots, and while one server is down, what lies
// on the others lives on. Method: the part that Redis Cluster plays here is played by one
// server, whose driver knows two.
func TestLongWhatLiesOnOtherServersOfAClusterLivesOn(t *testing.T) {
	t.Parallel()
	lease := redistest.Patience(2 * lease) // enough to make all the holds
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	cluster := &divided{Driver: d}
	if driver.Slot(protocol.Sessions)%2 != 0 {
		t.Fatal("the heartbeats lie on the odd server: exchange the two")
	}
	first, c := clientOn(t, d, 1), clientOn(t, d, 0) // the one whose session cannot be read is asked for first
	first.hold("first", time.Minute)
	first.heartbeat()
	var even []string
	for i := range 30 {
		name := on(0, fmt.Sprint("even-", i))
		even = append(even, name)
		c.hold(name, lease)
		c.hold(on(1, fmt.Sprint("odd-", i)), 2*lease)
	}
	c.heartbeat()
	w := run(t, cluster, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Renewals > 60 }, "all are renewed")
	if s := w.Stats(); s.Gone != 0 || s.Failures != 0 || s.Watchdogs != 1 {
		t.Errorf("counted were %+v", s)
	}
	cluster.down.Store(true)
	lasts(t, 2*lease, func() bool { return alive(t, server, even) == len(even) }, "the locks on the server that is up live")
	if s := w.Stats(); s.Failures == 0 {
		t.Error("no failure was counted")
	}
	cluster.down.Store(false)
	eventually(t, func() bool { return w.Stats().Watchdogs == 1 }, "it can do its work again")
	if cluster.crossed.Load() {
		t.Error("a script was asked to touch keys of two slots")
	}
	if cluster.odd.Load() == 0 {
		t.Error("nothing was asked of the odd server: this test tests nothing")
	}
}

package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// crowd is a fair lock with many waiters of four clients, and what the scripts cost the
// server.
type crowd struct {
	t      *testing.T
	server *redistest.Server
	conn   *server
	fair   script.Fair
	holder string
	queue  []string // the owners, in the order of their coming
	number int
}

func newCrowd(t *testing.T, waiters int) *crowd {
	t.Helper()
	c := &crowd{t: t, server: redistest.Start(t), fair: script.NewFair("job", 5*time.Minute, protocol.Plain), holder: "holder:1"}
	c.conn = connect(t, c.server.Addr())
	c.conn.run(t, c.fair.Acquire(c.holder, old, 1, false))
	for range waiters {
		c.enqueue()
	}
	return c
}

func clientOf(n int) string { return fmt.Sprintf("4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f1%d", n%4) }

func (c *crowd) enqueue() {
	c.t.Helper()
	owner := protocol.Owner(clientOf(c.number), int64(c.number))
	c.number++
	if reply := c.conn.run(c.t, c.fair.Acquire(owner, old, 1, true)); len(reply.Array) != 2 {
		c.t.Fatalf("enqueue: %+v", reply)
	}
	c.queue = append(c.queue, owner)
}

// grant has the holder release, the next in turn take the lock, and one more queue up.
func (c *crowd) grant() {
	c.t.Helper()
	c.conn.run(c.t, c.fair.Release(c.holder, 0, old))
	next := c.queue[0]
	got, err := script.ReadAcquired(c.conn.run(c.t, c.fair.Acquire(next, old, 1, true)))
	if err != nil || !got.Granted {
		c.t.Fatalf("%s is next, and is told %+v, %v", next, got, err)
	}
	c.holder, c.queue = next, c.queue[1:]
	c.enqueue()
}

// beat has every client say that it lives, for as many waiters as a beat carries.
func (c *crowd) beat() {
	c.t.Helper()
	owners := make(map[string][]string)
	for _, owner := range c.queue {
		client, _, _ := protocol.ParseOwner(owner)
		if len(owners[client]) < 100 {
			owners[client] = append(owners[client], owner)
		}
	}
	for client, some := range owners {
		beaten, err := script.ReadBeaten(c.conn.run(c.t, c.fair.Beat(client, some, nil)))
		if err != nil || len(beaten.Missing) > 0 || beaten.First != c.queue[0] {
			c.t.Fatalf("beat: %+v, %v", beaten, err)
		}
	}
}

// cost is the time that scripts have taken since the last reset.
func (c *crowd) cost() time.Duration {
	c.t.Helper()
	for line := range strings.SplitSeq(c.server.CLI(c.t, "INFO", "commandstats").(string), "\r\n") {
		var calls, micros int64
		if n, _ := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,usec=%d,", &calls, &micros); n == 2 {
			return time.Duration(micros) * time.Microsecond
		}
	}
	c.t.Fatal("no scripts were run")
	return 0
}

// perGrant is what a grant costs the server: the release, the grant, one more waiter, and
// the beats of four clients for every 100 grants. A machine that does other work makes some
// rounds slower, so the middle one counts.
func (c *crowd) perGrant() time.Duration {
	c.t.Helper()
	c.beat()
	const rounds, grants = 5, 100
	var costs []time.Duration
	for range rounds {
		c.server.CLI(c.t, "CONFIG", "RESETSTAT")
		for range grants {
			c.grant()
		}
		c.beat()
		costs = append(costs, c.cost()/grants)
	}
	slices.Sort(costs)
	return costs[rounds/2]
}

// TestAGrantCostsTheSameHoweverManyWait compares 5,000 living waiters with 50. Where the
// machine is so busy that even 50 cost more than they should, the ratio alone counts.
func TestAGrantCostsTheSameHoweverManyWait(t *testing.T) {
	few, many := newCrowd(t, 50).perGrant(), newCrowd(t, 5000).perGrant()
	t.Logf("a grant costs %v of Redis with 50 waiters, and %v with 5,000", few, many)
	if many > 100*time.Microsecond && many > 2*few {
		t.Errorf("a grant costs %v of Redis with 5,000 waiters, and %v with 50", many, few)
	}
}

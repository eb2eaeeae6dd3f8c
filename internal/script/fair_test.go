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
	c.conn.run(t, c.fair.Acquire(c.holder, script.Counts{Writes: 1}, old, false))
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
	if reply := c.conn.run(c.t, c.fair.Acquire(owner, script.Counts{Writes: 1}, old, true)); len(reply.Array) != 2 {
		c.t.Fatalf("enqueue: %+v", reply)
	}
	c.queue = append(c.queue, owner)
}

// grant has the holder release, the next in turn take the lock, and one more queue up, so
// many times and as fast as the server can.
func (c *crowd) grant(times int) {
	c.t.Helper()
	var calls []script.Call
	for range times {
		next, last := c.queue[0], protocol.Owner(clientOf(c.number), int64(c.number))
		c.number++
		calls = append(calls, c.fair.Release(c.holder, 0, script.Counts{}, old), c.fair.Acquire(next, script.Counts{Writes: 1}, old, true), c.fair.Acquire(last, script.Counts{Writes: 1}, old, true))
		c.holder, c.queue = next, append(c.queue[1:], last)
	}
	results := redistest.Must(script.NewRunner(c.conn, time.Minute).RunAll(c.t.Context(), calls...))
	for i := 1; i < len(results); i += 3 {
		if got, err := script.ReadAcquired(results[i].Reply); err != nil || !got.Granted {
			c.t.Fatalf("who is next is told %+v, %v", got, err)
		}
	}
}

// keepAlive sends the keep-alive of every client, each for as many waiters as it may name.
func (c *crowd) keepAlive() {
	c.t.Helper()
	owners := make(map[string][]string)
	for _, owner := range c.queue {
		client, _, _ := protocol.ParseOwner(owner)
		if len(owners[client]) < script.MaxKeptAlive {
			owners[client] = append(owners[client], owner)
		}
	}
	for client, some := range owners {
		found, err := script.ReadKeptAlive(c.conn.run(c.t, c.fair.KeepAlive(client, some, nil)))
		if err != nil || len(found.Missing) > 0 || found.First != c.queue[0] {
			c.t.Fatalf("keep-alive: %+v, %v", found, err)
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
// the keep-alives of four clients for every 100 grants. A machine that does other work makes some
// rounds slower, so the fastest one counts.
func (c *crowd) perGrant() time.Duration {
	c.t.Helper()
	c.keepAlive()
	const rounds, grants = 20, 100
	var costs []time.Duration
	for range rounds {
		c.server.CLI(c.t, "CONFIG", "RESETSTAT")
		c.grant(grants)
		c.keepAlive()
		costs = append(costs, c.cost()/grants)
	}
	return slices.Min(costs)
}

// TestAGrantCostsTheSameHoweverManyWait compares 5,000 living waiters with 50. Where the
// machine is so busy that even 50 cost more than they should, the ratio alone counts.
func TestAGrantCostsTheSameHoweverManyWait(t *testing.T) {
	few, many := newCrowd(t, 50).perGrant(), newCrowd(t, 5000).perGrant()
	t.Logf("a grant costs %v of Redis with 50 waiters, and %v with 5,000", few, many)
	if many > 100*time.Microsecond && many > 4*few {
		t.Errorf("a grant costs %v of Redis with 5,000 waiters, and %v with 50", many, few)
	}
}

// fairRow is a call on a fair lock nobody waits for.
type fairRow struct {
	what  string
	given state
	call  func(f script.Fair) script.Call
	reply string // as in the script's header
	then  state
}

func fairTable() []fairRow {
	take := func(owner string, count int) func(script.Fair) script.Call {
		return func(f script.Fair) script.Call { return f.Acquire(owner, script.Counts{Writes: count}, lease, false) }
	}
	free := func(owner string, remaining int) func(script.Fair) script.Call {
		return func(f script.Fair) script.Call { return f.Release(owner, 0, script.Counts{Writes: remaining}, lease) }
	}
	force := func(f script.Fair) script.Call { return f.Force("") }
	from := func(owner string) func(script.Fair) script.Call {
		return func(f script.Fair) script.Call { return f.Force(owner) }
	}
	keepAlive := func(f script.Fair) script.Call { return f.KeepAlive("c", []string{me}, nil) }
	const long = 300 * second
	gone, odd, two := state{ttl: missing}, state{"lang=en", old}, state{me + "=1 size=3", old}
	rows := []fairRow{
		{"acquire a free lock", state{}, take(me, 1), "1", held(me, 1, lease)},
		{"acquire once more", held(me, 1, old), take(me, 2), "1", held(me, 2, lease)},
		{"acquire once more for a shorter lease", held(me, 1, long), take(me, 2), "1", held(me, 2, long)},
		{"acquire what one has without expiry", held(me, 1, none), take(me, 2), "1", held(me, 2, lease)},
		{"re-enter what is gone", state{}, take(me, 2), "0", gone},
		{"acquire what another has", held(other, 3, old), take(me, 1), "{-1 " + other + "}", held(other, 3, old)},
		{"acquire what somebody of any name has", held("redi:go:17", 3, old), take(me, 1), "{-1 redi:go:17}", held("redi:go:17", 3, old)},
		{"acquire what a name without a number has", state{"anything=1", old}, take(me, 1), "{-1 anything}", state{"anything=1", old}},
		{"release the last hold", held(me, 2, old), free(me, 0), "0", gone},
		{"release one hold of two", held(me, 2, old), free(me, 1), "-3", held(me, 1, lease)},
		{"release one hold for a shorter lease", held(me, 2, long), free(me, 1), "-3", held(me, 1, long)},
		{"release what another has", held(other, 1, old), free(me, 0), "-1", held(other, 1, old)},
		{"release what is gone", state{}, free(me, 1), "-1", gone},
		{"force a free lock", state{}, force, "0", gone},
		{"force a held lock", held(other, 3, old), force, "1", gone},
		{"force what has no TTL", held(other, 3, none), force, "error NOTLOCK", held(other, 3, none)},
		{"force what is not held by a UUID", held("sku:1001", 2, old), force, "error NOTLOCK", held("sku:1001", 2, old)},
		{"force from its owner", held(other, 3, none), from(other), "1", gone},
		{"force from an owner of any name", state{"Some-body!=1", none}, from("Some-body!"), "1", gone},
		{"force from another", held(other, 3, old), from(me), "0", held(other, 3, old)},
		{"force a free lock from its owner", state{}, from(me), "0", gone},
	}
	for what, given := range map[string]state{
		"a count of zero": {me + "=0", old}, "a count below": {me + "=-1", old}, "a count with a sign": {me + "=+1", old},
		"a count with a fraction": {me + "=1.5", old}, "a giant count": {me + "=1e15", old}, "a count beyond the most": {me + "=65537", old},
		"a count of many digits": {me + "=000001", old}, "a field without a count": odd, "two fields": two,
	} {
		for verb, call := range map[string]func(script.Fair) script.Call{
			"acquire": take(me, 1), "re-enter": take(me, 2), "release": free(me, 0), "release one of": free(me, 1),
			"force": force, "force from its owner": from(me), "keep-alive for": keepAlive,
		} {
			rows = append(rows, fairRow{verb + " " + what, given, call, "error NOTLOCK", given})
		}
	}
	for verb, call := range map[string]func(script.Fair) script.Call{
		"acquire": take(me, 1), "release": free(me, 0), "force": force, "keep-alive for": keepAlive,
	} {
		rows = append(rows, fairRow{verb + " a string", state{"=x", old}, call, "error WRONGTYPE", state{"=x", old}})
	}
	return rows
}

func TestFairScriptsTouchNothingButALock(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair := script.NewFair(key, time.Minute, protocol.Plain)
		for _, row := range fairTable() {
			s.put(t, key, row.given)
			reply := s.run(t, row.call(fair))
			got := fmt.Sprint(reply.Int)
			switch {
			case reply.Err != nil:
				code, _, _ := strings.Cut(reply.Err.Error(), " ")
				got = "error " + code
			case len(reply.Array) == 2:
				got = fmt.Sprintf("{%d %s}", reply.Array[0].Int, reply.Array[1].Str)
			}
			if got != row.reply {
				t.Errorf("%s: the reply is %s, want %s", row.what, got, row.reply)
			}
			if then := s.state(t, key); !then.is(row.then) {
				t.Errorf("%s: it left %v, want %v", row.what, then, row.then)
			}
			s.must(t, "DEL", key)
			for _, beside := range []string{protocol.FairQueue(key), protocol.FairDeadlines(key), protocol.FairKeepAlives(key)} {
				if s.must(t, "EXISTS", beside).Int != 0 {
					t.Errorf("%s: it left %s", row.what, beside)
				}
			}
		}
	})
}

// A queue of foreigners as long as anybody likes must not hold the server up: one call
// removes a bounded number, and says that there are more.
func TestDeadForeignersAreRemovedInBoundedSteps(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair := script.NewFair(key, time.Minute, protocol.Plain)
		list := protocol.FairQueue(key)
		for from := range 12 {
			push, add := []string{"RPUSH", list}, []string{"ZADD", protocol.FairDeadlines(key)}
			for i := range 1000 {
				owner := protocol.Owner(other[:36], int64(1000*from+i))
				push, add = append(push, owner), append(add, "1", owner)
			}
			s.must(t, push...)
			s.must(t, add...)
		}
		calls := 0
		for ; ; calls++ {
			got, err := script.ReadAcquired(s.run(t, fair.Acquire(me, script.Counts{Writes: 1}, lease, true)))
			if err != nil || calls > 10 {
				t.Fatalf("after %d calls: %+v, %v", calls, got, err)
			}
			if got.Granted {
				break
			}
			if got.TTL != 0 {
				t.Errorf("the TTL is %v, want 0 to ask again", got.TTL)
			}
		}
		if calls != 2 {
			t.Errorf("%d calls did not do for 12,000 dead, want 2", calls)
		}
		s.must(t, "DEL", key)
		if s.must(t, "EXISTS", list, protocol.FairDeadlines(key), protocol.FairKeepAlives(key)).Int != 0 {
			t.Error("something is left of the queue")
		}
	})
}

func TestOnlyABoundedPartOfAQueueIsRead(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair := script.NewFair(key, time.Minute, protocol.Plain)
		for from := range 11 {
			push := []string{"RPUSH", protocol.FairQueue(key)}
			for i := range 1000 {
				push = append(push, fmt.Sprint("x:", 1000*from+i))
			}
			s.must(t, push...)
		}
		queue, err := script.ReadQueue(s.run(t, fair.Status("")[1]))
		if err != nil || len(queue) != 10000 || queue[9999].Owner != "x:9999" {
			t.Errorf("%d waiters, %v", len(queue), err)
		}
		s.must(t, "DEL", protocol.FairQueue(key))
	})
}

// A Java waiter that was the last of the queue leaves our keep-alives behind. An old sign of life
// of the same client must not make its next waiter a dead one.
func TestWhoQueuesIsHeard(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair := script.NewFair(key, time.Minute, protocol.Plain)
		s.run(t, fair.Acquire(other, script.Counts{Writes: 1}, lease, false))
		for _, alone := range []bool{true, false} {
			s.must(t, "ZADD", protocol.FairKeepAlives(key), "1", me[:36])
			s.run(t, fair.Acquire(me, script.Counts{Writes: 1}, lease, true))
			if at := s.must(t, "ZSCORE", protocol.FairKeepAlives(key), me[:36]).Str; at == "1" {
				t.Errorf("alone in the queue %v: the client was not noted", alone)
			}
		}
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
		s.run(t, fair.Release(other, 0, script.Counts{}, lease))
	})
}

// Goal: a client whose keep-alives were late does not remove its own first waiter when another one of it
// queues. Method: another client is heard of, so that the silence is no outage.
func TestWhoQueuesLeavesTheFirstOfItsClient(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key, second := redistest.Name(t), me[:36]+":9"
		fair, _ := queueOf(t, s, key, "nobody", me, third, second)
		s.run(t, fair.Release(second, 0, script.Counts{}, lease))
		s.must(t, "ZADD", protocol.FairKeepAlives(key), "1", me[:36])
		s.run(t, fair.Acquire(second, script.Counts{Writes: 1}, lease, true))
		if queue := s.must(t, "LRANGE", protocol.FairQueue(key), "0", "-1"); len(queue.Array) != 3 || queue.Array[0].Str != me {
			t.Errorf("in the queue is %+v, and the first was %s", queue.Array, me)
		}
	})
}

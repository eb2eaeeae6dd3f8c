package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// tally counts what was acknowledged, by key.
type tally struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (c *tally) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int64)
	}
	c.counts[key]++
}

func (c *tally) get(key string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[key]
}

// want compares the counts with those of the cluster.
func (c *tally) want(t *testing.T, d driver.Driver) {
	t.Helper()
	var sum int64
	for key, acknowledged := range c.counts {
		if got := do(t, d, "GET", key).Str; got != strconv.FormatInt(acknowledged, 10) {
			t.Errorf("%s was incremented %s times, acknowledged %d times", key, got, acknowledged)
		}
		sum += acknowledged
	}
	if sum < 100 {
		t.Errorf("only %d commands were acknowledged: that proves nothing", sum)
	}
}

func refusedWith(err error, code string) bool {
	var refused *driver.ServerError
	return errors.As(err, &refused) && refused.Code() == code
}

// Goal: nobody notices that a slot moves, and nothing is done twice. Method: single
// commands and pipelines increment keys of one slot, old ones and new ones, while it goes
// from server to server.
func TestLongASlotMovesUnderAStreamOfCommands(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	d := open(t, c.Servers[0].Addr())
	home := c.KeyAt(t, c.Servers[0])
	key := func(i int) string { return fmt.Sprintf("{%s}-%d", home, i) }

	var counted tally
	var over atomic.Bool
	var callers sync.WaitGroup
	defer callers.Wait()
	defer over.Store(true)
	for caller := range 8 {
		callers.Go(func() {
			for i := 0; !over.Load(); i++ {
				k := key(caller + i%50)
				switch err := d.Do(context.Background(), command("INCR", k)).Err; {
				case err == nil:
					counted.add(k)
				case !refusedWith(err, "TRYAGAIN"):
					t.Errorf("INCR: %v", err)
					return
				}
			}
		})
		callers.Go(func() {
			for i := 0; !over.Load(); i++ {
				if !pipelineInOrder(t, d, &counted, key(i%50), key(100+caller+i)) {
					return
				}
			}
		})
	}
	for i := range 6 {
		c.MoveSlot(t, home, c.Servers[(i+1)%3], func() { pause(t, d, home, 20) })
		pause(t, d, home, 20)
	}
	over.Store(true)
	callers.Wait()
	counted.want(t, d)
	if got := d.Shard(home); got != c.Master(t, home).Addr() {
		t.Errorf("the slot is said to be at %s, it is at %s", got, c.Master(t, home).Addr())
	}
}

// pause lets a number of commands pass.
func pause(t *testing.T, d driver.Driver, key string, commands int) {
	t.Helper()
	for range commands {
		if err := d.Do(t.Context(), command("GET", key)).Err; err != nil && !refusedWith(err, "TRYAGAIN") {
			t.Fatal(err)
		}
	}
}

// pipelineInOrder increments a, b and a again, and checks that the second time came after
// the first. What is refused with TRYAGAIN has not been done.
func pipelineInOrder(t *testing.T, d driver.Driver, counted *tally, a, b string) bool {
	replies := d.Pipeline(context.Background(), command("INCR", a), command("INCR", b), command("INCR", a))
	for i, k := range []string{a, b, a} {
		switch {
		case replies[i].Err == nil:
			counted.add(k)
		case !refusedWith(replies[i].Err, "TRYAGAIN"):
			t.Errorf("pipeline: %v", replies[i].Err)
			return false
		}
	}
	if replies[0].Err == nil && replies[2].Err == nil && replies[2].Int <= replies[0].Int {
		t.Errorf("the third command overtook the first: %+v", replies)
		return false
	}
	return true
}

// Goal: no command of a slot overtakes another one for good. Method: in the middle of a
// move, of two keys one is where it was, and the other is not anywhere, so that the
// server sends the second command of [new, old] on its own account and redirects the
// first.
func TestACommandThatWasOvertakenIsRefused(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	from, to := c.Servers[0], c.Servers[1]
	home := c.KeyAt(t, from)
	fresh, old := "{"+home+"}-new", "{"+home+"}-old"
	d := open(t, from.Addr())
	do(t, d, "SET", old, "7")

	c.MoveSlot(t, home, to, func() {
		replies := d.Pipeline(t.Context(), command("INCR", fresh), command("INCR", old))
		if !refusedWith(replies[0].Err, "TRYAGAIN") || replies[1].Int != 8 {
			t.Errorf("the first time: %+v", replies)
		}
		if got := to.CLI(t, "DBSIZE"); got != int64(0) {
			t.Errorf("the command that was overtaken has been carried out: %v keys", got)
		}
		// A caller that repeats it is not refused while the slot is migrating.
		replies = d.Pipeline(t.Context(), command("INCR", fresh), command("INCR", old))
		if replies[0].Int != 1 || replies[1].Int != 9 {
			t.Errorf("the second time: %+v", replies)
		}
		// The other way round nothing is overtaken. This key is new as well.
		replies = d.Pipeline(t.Context(), command("INCR", old), command("INCR", fresh+"er"))
		if replies[0].Int != 10 || replies[1].Int != 1 {
			t.Errorf("in the other order: %+v", replies)
		}
		replies = d.DedicatedPipeline(t.Context(), command("INCR", fresh),
			driver.Command{Words: []string{"WAIT", "0", "10"}, Key: fresh})
		if replies[0].Int != 2 || replies[1].Err != nil {
			t.Errorf("a dedicated pipeline, with WAIT behind it: %+v", replies)
		}
	})
	// Here the map is old, and the whole pipeline has to go elsewhere.
	var replies []driver.Reply
	redistest.Eventually(t, soon, func() bool {
		replies = d.Pipeline(t.Context(), command("INCR", fresh), command("INCR", old))
		return !refusedWith(replies[0].Err, "TRYAGAIN")
	}, "the pipeline goes the right way")
	if replies[0].Int != 3 || replies[1].Int != 11 {
		t.Errorf("after the move: %+v", replies)
	}
	if got := d.Shard(home); got != to.Addr() {
		t.Errorf("the slot is said to be at %s, it is at %s", got, to.Addr())
	}
}

func TestAPipelineReachesOverAllServers(t *testing.T) {
	t.Parallel()
	c := redistest.SharedCluster(t)
	d := open(t, c.Servers[2].Addr())
	var commands []driver.Command
	var keys []string
	for i := range 300 {
		keys = append(keys, redistest.Name(t))
		commands = append(commands, command("SET", keys[i], strconv.Itoa(i)), command("INCR", keys[i]))
	}
	shards := map[string]bool{}
	for i, reply := range d.Pipeline(t.Context(), commands...) {
		if i%2 == 1 && reply.Int != int64(i/2+1) {
			t.Fatalf("reply %d: %+v", i, reply)
		}
		shards[d.Shard(keys[i/2])] = true
	}
	if len(shards) != 3 {
		t.Errorf("the keys are on %d servers", len(shards))
	}
	dedicated := d.DedicatedPipeline(t.Context(), command("INCR", keys[7]), command("GET", keys[7]))
	if dedicated[0].Int != 9 || dedicated[1].Str != "9" {
		t.Errorf("a dedicated pipeline: %+v", dedicated)
	}
	if !d.ShardMessages() {
		t.Error("the servers are said not to know shard messages")
	}
}

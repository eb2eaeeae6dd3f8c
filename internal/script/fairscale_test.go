package script_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// fairSteps are what waiters and holders do with a queue, each with what it may cost: the number of
// commands inside the script.
var fairSteps = []struct {
	what string
	most int
	step func(c *crowd) script.Call
}{
	{"a release", 10, func(c *crowd) script.Call {
		if c.holder == "" {
			c.conn.run(c.t, c.take())
		}
		return c.free()
	}},
	{"a grant", 13, func(c *crowd) script.Call {
		if c.holder != "" {
			c.conn.run(c.t, c.free())
		}
		return c.take()
	}},
	{"a waiter that asks again", 13, func(c *crowd) script.Call {
		return c.fair.Acquire(c.queue[len(c.queue)-1], script.Counts{Writes: 1}, old, true)
	}},
	{"the first that leaves", 20, func(c *crowd) script.Call { return c.leave(0) }},
	{"one in the middle that leaves", 16, func(c *crowd) script.Call { return c.leave(len(c.queue) / 2) }},
	{"the last that leaves", 16, func(c *crowd) script.Call { return c.leave(len(c.queue) - 1) }},
	{"a keep-alive of the head's client", 25, func(c *crowd) script.Call { return c.fair.KeepAlive(c.queue[0][:36], c.queue[:1], nil) }},
	{"a keep-alive of another client", 22, func(c *crowd) script.Call {
		other := c.queue[1]
		for _, owner := range c.queue {
			if owner[:36] != c.queue[0][:36] {
				other = owner
				break
			}
		}
		return c.fair.KeepAlive(other[:36], []string{other}, nil)
	}},
}

// free has the holder release the lock, and take has the next one acquire it.
func (c *crowd) free() script.Call {
	holder := c.holder
	c.holder = ""
	return c.fair.Release(holder, 0, script.Counts{}, old)
}

func (c *crowd) take() script.Call {
	c.holder, c.queue = c.queue[0], c.queue[1:]
	return c.fair.Acquire(c.holder, script.Counts{Writes: 1}, old, true)
}

// leave has the waiter at an index give up.
func (c *crowd) leave(at int) script.Call {
	owner := c.queue[at]
	c.queue = append(c.queue[:at:at], c.queue[at+1:]...)
	return c.fair.Release(owner, 0, script.Counts{}, old)
}

// commands counts what a call has the server do, by command.
func (c *crowd) commands(call script.Call) map[string]int {
	c.t.Helper()
	c.server.CLI(c.t, "CONFIG", "RESETSTAT")
	c.conn.run(c.t, call)
	counts := make(map[string]int)
	for line := range strings.SplitSeq(c.server.CLI(c.t, "INFO", "commandstats").(string), "\r\n") {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		var calls int
		if n, _ := fmt.Sscanf(rest, "%d,", &calls); n == 1 && name != "evalsha" && name != "config|resetstat" {
			counts[name] = calls
		}
	}
	return counts
}

// Goal: no step of a fair lock does more because more wait. Method: the commands inside each script
// are counted, which no busy machine changes.
func TestNoFairStepDependsOnTheNumberOfWaiters(t *testing.T) {
	t.Parallel()
	few, many := newCrowd(t, 200), newCrowd(t, 3000)
	for _, given := range fairSteps {
		for _, c := range []*crowd{few, many} { // the scripts are known, and the clients were heard of
			c.keepAlive()
			c.conn.run(t, given.step(c))
		}
		wrong := ""
		for range 5 { // a client that was not heard of for half a second is noted, which costs more
			short, long := few.commands(given.step(few)), many.commands(given.step(many))
			total := 0
			for _, n := range long {
				total += n
			}
			if wrong = ""; maps.Equal(short, long) && total <= given.most {
				break
			}
			wrong = fmt.Sprintf("%d commands with 3,000 waiters: %v; with 200: %v", total, long, short)
		}
		if wrong != "" {
			t.Errorf("%s takes the server %s", given.what, wrong)
		}
	}
}

// Goal: Redis finds a waiter that leaves from the nearer end of its queue, and no other entry goes.
// Method: the owners of two entries are written once more behind or before them, and strays keep the
// lengths of the list and of the deadlines equal. What is left of them says from where the walk came.
func TestWhoLeavesIsFoundFromTheNearerEnd(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 100)
	const list, deadlines = "redisson_lock_queue:{job}", "redisson_lock_timeout:{job}"
	second, last := c.queue[1], c.queue[98]
	c.conn.must(t, "RPUSH", list, second)
	c.conn.must(t, "LINSERT", list, "BEFORE", c.queue[80], last)
	far := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	c.conn.must(t, "ZADD", deadlines, far, "stray:1", far, "stray:2")
	for _, leaver := range []string{second, last} {
		c.conn.run(t, c.fair.Release(leaver, 0, script.Counts{}, old))
	}
	if got := c.conn.must(t, "LINDEX", list, "-1").Str; got != second {
		t.Errorf("the walk for the second went to the other end, where %s stands", got)
	}
	if got := c.conn.must(t, "LINDEX", list, "79").Str; got != last {
		t.Errorf("the walk for the last came from the front, and passed %s", got)
	}
	if n := c.conn.must(t, "LLEN", list).Int; n != 100 {
		t.Errorf("%d entries are left, want 100", n)
	}
}

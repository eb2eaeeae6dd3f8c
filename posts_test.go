package redlatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/embedded"
)

// Several servers in a bubble of fake time, and what can become of each.

// bubble runs a test in fake time, with a context that does not end with the test.
func bubble(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, context.WithoutCancel(t.Context())) })
}

var sure = redlatch.Config{RestartDelay: -1}

// post is one of several servers in a bubble of fake time, with a client of its own.
type post struct {
	*tap
	memory *memory.Driver
	client *redlatch.Client
}

// rival returns one more client of the server.
func (p *post) rival(t *testing.T, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c := must(redlatch.New(p.tap, quiet(cfg)))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// slow makes every request take so long.
func (p *post) slow(d time.Duration) {
	p.set(func(commands []driver.Command, send sender) []driver.Reply {
		time.Sleep(d)
		return send(commands...)
	})
}

// posts starts servers, one for each member of a whole.
func posts(t *testing.T, n int, cfg redlatch.Config) []*post {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all := make([]*post, n)
	for i := range all {
		m := must(memory.Open(ctx, memory.Options{}))
		t.Cleanup(m.Close)
		embedded.Quicken(m.Miniredis())
		p := &post{tap: &tap{Driver: m}, memory: m}
		p.client = p.rival(t, cfg)
		all[i] = p
	}
	return all
}

// locksOf are the members of that name, one on each server.
func locksOf(all []*post, name string) (locks []redlatch.Lock) {
	for _, p := range all {
		locks = append(locks, p.client.Mutex(name))
	}
	return locks
}

// dead answers nothing.
func dead(commands []driver.Command, _ sender) []driver.Reply { return failAll(commands, errCut) }

// aged answers INFO as a server does that says how long it has been up.
func aged(run string, uptime func() time.Duration) around {
	return func(commands []driver.Command, send sender) []driver.Reply {
		if commands[0].Words[0] != "INFO" {
			return send(commands...)
		}
		info := fmt.Sprintf("# Server\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n", run, uptime()/time.Second)
		return []driver.Reply{{Str: info}}
	}
}

func seconds(n int) func() time.Duration {
	return func() time.Duration { return time.Duration(n) * time.Second }
}

// far is a driver to a server that is far away. What was sent arrives, whether somebody
// still waits for the answer or not.
type far struct {
	driver.Driver
	oneWay time.Duration
}

func (d far) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d far) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	answered := make(chan []driver.Reply, 1)
	go func() {
		time.Sleep(d.oneWay)
		replies := d.Driver.Pipeline(context.WithoutCancel(ctx), commands...)
		time.Sleep(d.oneWay)
		answered <- replies
	}()
	select {
	case replies := <-answered:
		return replies
	case <-ctx.Done():
		return failAll(commands, ctx.Err())
	}
}

// farLocks are mutexes on so many servers of a round trip of 300 ms.
func farLocks(ctx context.Context, n int) (locks []redlatch.Lock, leave func()) {
	var ends []func()
	for range n {
		m := must(memory.Open(ctx, memory.Options{}))
		c := must(redlatch.New(far{m, 150 * time.Millisecond}, quiet(sure)))
		ends = append(ends, func() { _ = c.Close(ctx); m.Close() })
		locks = append(locks, c.Mutex("job"))
	}
	return locks, func() {
		for _, end := range ends {
			end()
		}
	}
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

var (
	errCut  = errors.New("the connection was cut")
	errDown = fmt.Errorf("the server is down: %w: %w", driver.ErrNotSent, driver.ErrNoConnection)
	errDead = fmt.Errorf("the process is dead: %w: %w", driver.ErrNotSent, driver.ErrNoConnection)
)

// link is how a process reaches one server. It is a driver.Driver.
type link struct {
	*timeline
	name     string
	process  *process
	server   *redis
	random   *rand.Rand
	delay    time.Duration // of one way, about
	commands *conn         // nil if there is none
	opened   int           // connections so far
	conns    []*conn       // that it takes for open
}

// call is one call of a driver.
type call struct {
	ctx      context.Context
	commands []driver.Command
	sent     atomic.Bool
	replies  chan []driver.Reply // capacity one
	wake     chan struct{}       // closed when the call is to end because its time is up
}

func newCall(ctx context.Context, commands []driver.Command) *call {
	return &call{ctx: ctx, commands: commands, replies: make(chan []driver.Reply, 1), wake: make(chan struct{})}
}

// finish ends a call with its replies. Later ones do not count.
func (c *call) finish(replies []driver.Reply) {
	select {
	case c.replies <- replies:
	default:
	}
}

func (c *call) fail(err error) {
	c.finish(c.failed(err))
}

func (c *call) failed(err error) []driver.Reply {
	return slices.Repeat([]driver.Reply{{Err: err}}, len(c.commands))
}

// timedOut are the replies to a call whose time is up.
func (c *call) timedOut() []driver.Reply {
	if c.sent.Load() {
		return c.failed(c.ctx.Err())
	}
	return c.failed(fmt.Errorf("%w: %w", driver.ErrNotSent, c.ctx.Err()))
}

// Do is Pipeline with one command.
func (l *link) Do(ctx context.Context, command driver.Command) driver.Reply {
	return l.Pipeline(ctx, command)[0]
}

// Pipeline sends commands on the one connection for commands.
func (l *link) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	c := newCall(ctx, commands)
	return l.do(c, "asks "+describe(commands), func() { l.with(c, &l.commands, func() { l.commands.send(c) }) })
}

// Close does nothing: the process closes the connections.
func (l *link) Close() {}

// do posts a call, and waits for its end.
func (l *link) do(c *call, what string, take func()) []driver.Reply {
	if l.process.dead.Load() {
		return c.failed(errDead)
	}
	if c.ctx.Err() != nil {
		return c.timedOut()
	}
	l.post(l.name+" "+what, func() { l.process.when(take) })
	select {
	case replies := <-c.replies:
		return replies
	case <-c.ctx.Done():
	}
	// Several calls may have the same time-out. They end one after another, and in a paused process
	// only when it goes on.
	l.post(l.name+" has its time up: "+what, func() {
		l.after(0, l.name+" gives up", func() { l.process.when(func() { close(c.wake) }) })
	})
	select {
	case replies := <-c.replies:
		return replies
	case <-c.wake:
	case <-l.process.died:
	}
	select {
	case replies := <-c.replies: // it was there before the process went on
		return replies
	default:
		return c.timedOut()
	}
}

// with has a call go on with a connection: the one that is there already, or a new one. A call that has
// ended does not, nor does one that finds nobody.
func (l *link) with(c *call, there **conn, then func()) {
	switch {
	case l.process.dead.Load():
		c.fail(errDead)
	case c.ctx.Err() != nil:
	case *there == nil && l.server.down:
		l.after(l.latency(), l.name+" is refused", func() { c.fail(errDown) })
	default:
		if *there == nil {
			*there = l.open()
		}
		then()
	}
}

// DedicatedPipeline sends commands on a connection of their own, which it closes.
func (l *link) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	c := newCall(ctx, commands)
	var own *conn
	replies := l.do(c, "asks apart "+describe(commands), func() {
		l.with(c, &own, func() { own.send(c) })
	})
	l.post("", func() {
		if own != nil {
			own.cut(0, 0)
		}
	})
	return replies
}

// open opens a connection.
func (l *link) open() *conn {
	l.opened++
	c := &conn{link: l, timeline: l.timeline, name: fmt.Sprintf("%s#%d", l.name, l.opened)}
	l.conns = append(l.conns, c)
	l.server.conns = append(l.server.conns, c)
	return c
}

// latency is the time that one way takes.
func (l *link) latency() time.Duration {
	d := time.Duration(float64(l.delay) * (0.5 + min(l.random.ExpFloat64(), 3)))
	return d + time.Duration(l.random.IntN(1000))
}

// conn is one connection, which keeps the order of what is sent on it, in each direction.
type conn struct {
	*timeline
	link     *link
	name     string
	broken   bool // nothing arrives any more
	up, down time.Time
	calls    []*call // without an answer
	written  int     // what WAIT on it waits for

	listener *listener // nil for commands
	channels []string  // subscribed, as the server knows
	shards   []string  // the same, for what is published in its shard
}

// send sends a call. It is carried out when it arrives.
func (c *conn) send(one *call) {
	one.sent.Store(true)
	c.calls = append(c.calls, one)
	c.request("request "+describe(one.commands), one, func() {
		replies := c.link.server.run(one.commands)
		reply := func() { c.deliver("reply "+describeReplies(replies), func() { c.answer(one, replies) }) }
		if last := &replies[len(replies)-1]; waits(one.commands) && last.Err == nil {
			if len(replies) > 1 {
				c.written = c.link.server.written
			}
			c.link.server.await(c.written, one.commands[len(replies)-1].Words, func(count int) { last.Int = int64(count); reply() })
			return
		}
		reply()
	})
}

// establish is the round trip that a new connection takes.
func (c *conn) establish(one *call, asks, answer string) {
	c.calls = append(c.calls, one)
	c.request(asks, nil, func() {
		c.deliver(answer, func() { c.answer(one, make([]driver.Reply, 1)) })
	})
}

// request makes something arrive at the server, which is late if the connection breaks and late
// is set for the call.
func (c *conn) request(what string, one *call, do func()) {
	c.up = later(time.Now().Add(c.link.latency()), c.up.Add(1))
	c.at(c.up, c.name+" "+what, func() {
		c.link.server.when(func() {
			if !c.broken {
				do()
			} else if one != nil && c.link.random.IntN(2) == 0 {
				c.late(one)
			}
		})
	})
}

// late has a call carried out long after its connection broke.
func (c *conn) late(one *call) {
	wait := time.Duration(c.link.random.Int64N(int64(c.link.process.config.LeaseTime)))
	s := c.link.server
	c.after(wait, c.name+" late "+describe(one.commands), func() {
		s.when(func() {
			if !s.down {
				s.run(one.commands)
			}
		})
	})
}

// deliver makes something arrive at the process.
func (c *conn) deliver(what string, do func()) {
	c.down = later(time.Now().Add(c.link.latency()), c.down.Add(1))
	c.at(c.down, c.name+" "+what, func() {
		c.link.process.when(func() {
			if !c.broken {
				do()
			}
		})
	})
}

func (c *conn) answer(one *call, replies []driver.Reply) {
	c.calls = slices.DeleteFunc(c.calls, func(other *call) bool { return other == one })
	one.finish(replies)
}

// cut breaks a connection. The server and the process notice after a while each.
func (c *conn) cut(server, process time.Duration) {
	if c.broken {
		return
	}
	c.broken = true
	c.after(server, c.name+" is gone for the server", func() {
		c.link.server.conns = slices.DeleteFunc(c.link.server.conns, func(other *conn) bool { return other == c })
	})
	c.after(process, c.name+" is gone for the process", func() { c.link.process.when(c.noticed) })
}

// noticed ends what the process has on a broken connection.
func (c *conn) noticed() {
	l := c.link
	l.conns = slices.DeleteFunc(l.conns, func(other *conn) bool { return other == c })
	if l.commands == c {
		l.commands = nil
	}
	if c.listener != nil {
		c.listener.end()
	}
	for _, one := range c.calls { // not in one instant: two that say the same would be mixed up
		c.after(0, "", func() { l.process.when(func() { one.fail(errCut) }) })
	}
	c.calls = nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// describe writes commands for a trace.
func describe(commands []driver.Command) string {
	return joined(commands, func(c driver.Command) string { return strings.Join(named(c.Words), " ") })
}

func describeReplies(replies []driver.Reply) string { return joined(replies, driver.Reply.String) }

func joined[T any](parts []T, write func(T) string) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = write(part)
	}
	return strings.Join(texts, " | ")
}

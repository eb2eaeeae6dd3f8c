package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Several servers in a bubble of fake time, and what can become of each.

// Bubble runs a test in fake time, with a context that does not end with the test.
func Bubble(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, context.WithoutCancel(t.Context())) })
}

var Sure = redlatch.Config{RestartDelay: -1}

// Post is one of several servers in a bubble of fake time, with a client of its own.
type Post struct {
	*Tap
	Memory *memory.Driver
	Client *redlatch.Client
}

// Rival returns one more client of the server.
func (p *Post) Rival(t *testing.T, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	return p.On(t, p.Tap, cfg)
}

// On returns a client of the server by another driver.
func (p *Post) On(t *testing.T, d driver.Driver, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c := check.Must(redlatch.New(d, fixture.Quiet(cfg)))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// Slow makes every request take so long.
func (p *Post) Slow(d time.Duration) {
	p.Set(func(commands []driver.Command, send Sender) []driver.Reply {
		time.Sleep(d)
		return send(commands...)
	})
}

// Posts starts servers, one for each member of a whole.
func Posts(t *testing.T, n int, cfg redlatch.Config) []*Post {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all := make([]*Post, n)
	for i := range all {
		m := check.Must(memory.Open(ctx, memory.Options{}))
		t.Cleanup(m.Close)
		embedded.Quicken(m.Miniredis())
		p := &Post{Tap: &Tap{Driver: m}, Memory: m}
		p.Client = p.Rival(t, cfg)
		all[i] = p
	}
	return all
}

// LocksOf are the members of that name, one on each server.
func LocksOf(all []*Post, name string) (locks []redlatch.Lock) {
	for _, p := range all {
		locks = append(locks, p.Client.Mutex(name))
	}
	return locks
}

// Dead answers nothing.
func Dead(commands []driver.Command, _ Sender) []driver.Reply { return FailAll(commands, ErrCut) }

// Aged answers INFO as a server does that says how long it has been up.
func Aged(run string, uptime func() time.Duration) Around {
	return func(commands []driver.Command, send Sender) []driver.Reply {
		if commands[0].Words[0] != "INFO" {
			return send(commands...)
		}
		info := fmt.Sprintf("# Server\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n", run, uptime()/time.Second)
		return []driver.Reply{{Str: info}}
	}
}

func Seconds(n int) func() time.Duration {
	return func() time.Duration { return time.Duration(n) * time.Second }
}

// Line is a driver to a server that is away. What was sent arrives, whether somebody still waits for the answer or not.
type Line struct {
	driver.Driver
	Trip  time.Duration
	State *atomic.Int32 // Up, Down or Hanging; nil: Up
}

// What a line does.
const (
	Up      int32 = iota
	Down          // it has no connection
	Hanging       // nothing arrives, and nobody says so
)

func (l Line) Do(ctx context.Context, c driver.Command) driver.Reply { return l.Pipeline(ctx, c)[0] }

func (l Line) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	switch {
	case l.State == nil:
	case l.State.Load() == Down:
		time.Sleep(100 * time.Microsecond)
		return FailAll(commands, errors.Join(driver.ErrNotSent, driver.ErrNoConnection))
	case l.State.Load() == Hanging:
		<-ctx.Done()
		return FailAll(commands, ctx.Err())
	}
	answered := make(chan []driver.Reply, 1)
	go func() {
		time.Sleep(l.Trip / 2)
		replies := l.Driver.Pipeline(context.WithoutCancel(ctx), commands...)
		time.Sleep(l.Trip / 2)
		answered <- replies
	}()
	select {
	case replies := <-answered:
		return replies
	case <-ctx.Done():
		return FailAll(commands, ctx.Err())
	}
}

// FarLocks are mutexes on so many servers of a round trip of 300 ms.
func FarLocks(ctx context.Context, n int) (locks []redlatch.Lock, leave func()) {
	var ends []func()
	for range n {
		m := check.Must(memory.Open(ctx, memory.Options{}))
		c := check.Must(redlatch.New(Line{Driver: m, Trip: 300 * time.Millisecond}, fixture.Quiet(Sure)))
		ends = append(ends, func() { _ = c.Close(ctx); m.Close() })
		locks = append(locks, c.Mutex("job"))
	}
	return locks, func() {
		for _, end := range ends {
			end()
		}
	}
}

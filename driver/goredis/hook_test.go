package goredis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// hook does something around commands, alone or several.
type hook func(ctx context.Context, cmds []redis.Cmder, next func() error) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h(ctx, []redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h(ctx, cmds, func() error { return next(ctx, cmds) })
	}
}

// hooked is a driver whose client has a hook by now.
func hooked(t *testing.T, h hook) driver.Driver {
	t.Helper()
	client := dial(t, eager(redistest.Shared(t).Addr()))
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, next func() error) error {
		if strings.HasPrefix(cmds[0].FullName(), "role") || cmds[0].Name() == "hello" || cmds[0].Name() == "client" {
			return next() // that of New, or of a connection
		}
		return h(ctx, cmds, next)
	}))
	return open(t, client)
}

func TestHooksSeeTheCommandsAndTheCallersContext(t *testing.T) {
	t.Parallel()
	type trace struct{}
	key := redistest.Name(t)
	var kept []redis.Cmder
	d := hooked(t, func(ctx context.Context, cmds []redis.Cmder, next func() error) error {
		if ctx.Value(trace{}) == "mine" {
			kept = append(kept, cmds...)
		}
		return next()
	})
	ctx := context.WithValue(t.Context(), trace{}, "mine")
	commands := []driver.Command{command("SET", key, "value"), command("PING"), command("GET", key), command("GET", "no"+key)}
	d.Do(ctx, commands[0])
	d.Do(ctx, commands[1])
	d.Pipeline(ctx, commands[2:]...)
	for _, c := range commands {
		clear(c.Words) // the library uses the words of a call that is answered again
	}
	var seen []string
	for _, cmd := range kept {
		seen = append(seen, cmd.Name()+"|"+cmd.String())
	}
	want := []string{"set|SET " + key + " value: OK", "ping|PING: PONG", "get|GET " + key + ": value", "get|GET no" + key + ": redis: nil"}
	if !slices.Equal(seen, want) {
		t.Errorf("the hook has seen %q, want %q", seen, want)
	}
}

// Goal: callers that go on when a pipeline is answered share the next one. Method: of eight callers, the mean of a
// hundred pipelines. Without a yield, the first caller that goes on gets one of its own, and the others wait for that.
func TestCallsThatFollowShareAPipeline(t *testing.T) {
	t.Parallel()
	const callers, enough = 8, 6
	ctx, shared := context.WithTimeout(t.Context(), 20*time.Second)
	defer shared()
	pipelines, calls := 0, 0
	d := hooked(t, func(_ context.Context, cmds []redis.Cmder, next func() error) error {
		pipelines, calls = pipelines+1, calls+len(cmds)
		if pipelines == 100 {
			if calls >= pipelines*enough {
				shared()
			}
			pipelines, calls = 0, 0
		}
		return next()
	})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				d.Do(t.Context(), command("PING"))
			}
		})
	}
	all.Wait()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("%d callers have never made a hundred pipelines of %d calls on average", callers, enough)
	}
}

var errBreaker = errors.New("the circuit is open")

// Goal: what a hook does to an error never becomes a reply of the server. A nil reply would mean that a
// lock was taken.
func TestHooksForgeNoReplies(t *testing.T) {
	t.Parallel()
	key := redistest.Name(t)
	for _, c := range []struct {
		name string
		hook hook
		want func(testing.TB, error)
	}{
		{"it refuses", func(context.Context, []redis.Cmder, func() error) error { return errBreaker }, wantNotSent},
		{"it drops the call", func(context.Context, []redis.Cmder, func() error) error { return nil }, wantUnknown},
		{"it hides errors", func(_ context.Context, cmds []redis.Cmder, next func() error) error {
			_ = next()
			for _, cmd := range cmds {
				cmd.SetErr(nil)
			}
			return nil
		}, wantUnknown},
		{"it panics before", func(context.Context, []redis.Cmder, func() error) error { panic("hook") }, wantNotSent},
	} {
		d := hooked(t, c.hook)
		for way, send := range ways(d) {
			if strings.HasPrefix(way, "Dedicated") {
				continue // go-redis leaves the hooks out of a client with another timeout
			}
			reply := send(t.Context(), command("GET", key)) // there is none
			t.Logf("%s, %s: %v", c.name, way, reply)
			c.want(t, reply.Err)
		}
	}
}

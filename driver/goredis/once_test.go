package goredis_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// eager are options by which go-redis repeats whatever it may, and soon.
func eager(address string) *redis.Options {
	return &redis.Options{Addr: address, MaxRetries: 10, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond}
}

// ways are the ways to send a command. A driver of a cluster has no DoTwo.
func ways(d driver.Driver) map[string]func(context.Context, driver.Command) driver.Reply {
	ping := driver.Command{Words: []string{"PING"}}
	all := map[string]func(context.Context, driver.Command) driver.Reply{
		"Do":                   d.Do,
		"Pipeline":             func(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c, ping)[0] },
		"DedicatedPipeline":    func(ctx context.Context, c driver.Command) driver.Reply { return d.DedicatedPipeline(ctx, c)[0] },
		"DedicatedPipeline, 2": func(ctx context.Context, c driver.Command) driver.Reply { return d.DedicatedPipeline(ctx, c, ping)[0] },
	}
	if two, ok := d.(interface {
		DoTwo(ctx context.Context, one, two driver.Command) (driver.Reply, driver.Reply)
	}); ok {
		all["DoTwo"] = func(ctx context.Context, c driver.Command) driver.Reply {
			reply, _ := two.DoTwo(ctx, c, ping)
			return reply
		}
	}
	return all
}

// Goal: a command is carried out once at most, whatever go-redis does after a failure. Method: a reply
// is lost, or a request, with a client that repeats ten times.
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	d := open(t, dial(t, eager(proxy.Addr())))
	for name, send := range ways(d) {
		for _, c := range []struct {
			lost string
			drop func(int, func([]byte) bool)
			want any
		}{
			{"the reply", proxy.DropReplies, "1"},
			{"the request", proxy.DropRequests, nil},
		} {
			key := "once " + name + c.lost
			c.drop(1, redistest.Containing(key))
			reply := send(t.Context(), command("INCR", key))
			wantUnknown(t, reply.Err)
			wantNoContextError(t, reply.Err)
			if got := server.CLI(t, "GET", key); got != c.want {
				t.Errorf("%s, %s was lost: the key is %v, want %v", name, c.lost, got, c.want)
			}
			eventuallyWorks(t, d)
		}
	}
}

// refusals are the replies after which go-redis repeats a command.
var refusals = []string{"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "ERR max number of clients reached"}

// Goal: a refusal is not repeated either: a script may have written before it was refused.
func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := open(t, dial(t, eager(redistest.Shared(t).Addr())))
	const script = "redis.call('incr', KEYS[1]) return redis.error_reply(ARGV[1])"
	for name, send := range ways(d) {
		for _, refusal := range refusals {
			key := redistest.Name(t) + name + refusal
			err := send(t.Context(), driver.Command{Words: []string{"EVAL", script, "1", key, refusal + " as it says"}, Key: key}).Err
			if refused, ok := errors.AsType[*driver.ServerError](err); !ok || !strings.HasPrefix(refused.Message, refusal) {
				t.Errorf("%s: %v, want %s", name, err, refusal)
			}
			if got := do(t, d, "GET", key).Str; got != "1" {
				t.Errorf("%s, %s: it ran %s times", name, refusal, got)
			}
		}
	}
}

// again is a hook that repeats whatever has failed, as those for unreliable networks do.
type again struct{ calls atomic.Int64 }

func (a *again) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *again) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		for i := 0; err != nil && i < 3; i++ {
			a.calls.Add(1)
			err = next(ctx, cmd)
		}
		return err
	}
}

func (a *again) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for i := 0; err != nil && i < 3; i++ {
			a.calls.Add(1)
			err = next(ctx, cmds)
		}
		return err
	}
}

// Goal: a hook of the application cannot repeat a command either.
func TestAHookSendsNothingTwice(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client, hook := dial(t, eager(proxy.Addr())), &again{}
	client.AddHook(hook)
	d := open(t, client)
	for name, send := range ways(d) {
		key := "once " + name
		proxy.DropReplies(1, redistest.Containing(key))
		wantUnknown(t, send(t.Context(), command("INCR", key)).Err)
		if got := server.CLI(t, "GET", key); got != "1" {
			t.Errorf("%s: the key is %v, want 1", name, got)
		}
	}
	if hook.calls.Load() == 0 {
		t.Error("the hook has repeated nothing")
	}
}

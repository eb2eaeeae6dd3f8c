// Package guest stands between the library and the drivers of its users. If a driver panics or breaks its contract,
// the call fails. The process goes on, and no caller is left in a queue.
package guest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Driver wraps a driver. The result does not panic, returns one reply to each command, and returns a listener or an
// error. It has only the methods of driver.Driver.
func Driver(d driver.Driver) driver.Driver { return checked{d} }

type checked struct{ driver.Driver }

func (c checked) Do(ctx context.Context, command driver.Command) (reply driver.Reply) {
	defer caught(func(err error) { reply = driver.Reply{Err: err} })
	return c.Driver.Do(ctx, command)
}

func (c checked) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return Counted(ctx, c.Driver.Pipeline, commands)
}

func (c checked) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return Counted(ctx, c.Driver.DedicatedPipeline, commands)
}

func (c checked) Listen(ctx context.Context, events driver.Events) (l driver.Listener, err error) {
	defer caught(func(panicked error) { err = panicked })
	if l, err = c.Driver.Listen(ctx, events); err == nil {
		err = lockerr.Missing("listener of the driver", l)
	}
	if err != nil {
		return nil, err
	}
	if shard, is := l.(driver.ShardListener); is {
		return shardListener{listener{l}, shard}, nil
	}
	return listener{l}, nil
}

// listener wraps a listener. Its requests return an error if the listener panics.
type listener struct{ driver.Listener }

func (l listener) Subscribe(ctx context.Context, channels ...string) error {
	return asked(ctx, l.Listener.Subscribe, channels)
}

func (l listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return asked(ctx, l.Listener.Unsubscribe, channels)
}

type shardListener struct {
	listener
	shard driver.ShardListener
}

func (l shardListener) SubscribeShard(ctx context.Context, channels ...string) error {
	return asked(ctx, l.shard.SubscribeShard, channels)
}

func (l shardListener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	return asked(ctx, l.shard.UnsubscribeShard, channels)
}

func asked(ctx context.Context, ask func(context.Context, ...string) error, channels []string) (err error) {
	defer caught(func(panicked error) { err = panicked })
	return ask(ctx, channels...)
}

// Counted sends commands by a pipeline, and returns one reply to each. If the driver returns more or fewer, nobody
// knows which reply belongs to which command. Then each reply is an error, as after a panic. The outcome on the server
// is unknown.
func Counted(ctx context.Context, pipeline func(context.Context, ...driver.Command) []driver.Reply, commands []driver.Command) (replies []driver.Reply) {
	fail := func(err error) { replies = slices.Repeat([]driver.Reply{{Err: err}}, len(commands)) }
	defer caught(fail)
	if replies = pipeline(ctx, commands...); len(replies) != len(commands) {
		fail(fmt.Errorf("the driver returned %d replies to %d commands", len(replies), len(commands)))
	}
	return replies
}

// caught turns a panic into an error. It must be deferred.
func caught(fail func(error)) {
	if p := recover(); p != nil {
		fail(fmt.Errorf("the driver panicked: %v", p))
	}
}

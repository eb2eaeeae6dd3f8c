// Package guest stands between the library and the drivers of its users. If a driver panics, ends its goroutine or
// breaks its contract, the call fails. The process goes on, and no caller is left in a queue.
package guest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Driver wraps a driver. The result does not panic or end the goroutine of its caller, returns one reply to each
// command, and returns a listener or an error. It has only the methods of driver.Driver.
func Driver(d driver.Driver) driver.Driver {
	t := reflect.TypeOf(d)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return checked{d, strings.HasPrefix(t.PkgPath(), ours)}
}

// ours begins the paths of the drivers of this project. They themselves call the code of users aside.
var ours = reflect.TypeFor[driver.Driver]().PkgPath() + "/"

type checked struct {
	driver.Driver
	own bool // a driver of this project
}

func (c checked) Do(ctx context.Context, command driver.Command) (reply driver.Reply) {
	if !c.own {
		return aside(refused, func() driver.Reply { return c.Driver.Do(ctx, command) })
	}
	defer caught(func(err error) { reply = refused(err) })
	return c.Driver.Do(ctx, command)
}

func (c checked) Pipeline(ctx context.Context, commands ...driver.Command) (replies []driver.Reply) {
	if !c.own {
		return Counted(ctx, c.Driver.Pipeline, commands)
	}
	defer caught(func(err error) { replies = all(commands, err) })
	return counted(commands, c.Driver.Pipeline(ctx, commands...))
}

func (c checked) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return Counted(ctx, c.Driver.DedicatedPipeline, commands)
}

func (c checked) Listen(ctx context.Context, events driver.Events) (l driver.Listener, err error) {
	err = asked(func() (err error) {
		l, err = c.Driver.Listen(ctx, events)
		return err
	})
	if err == nil {
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
	return asked(func() error { return l.Listener.Subscribe(ctx, channels...) })
}

func (l listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return asked(func() error { return l.Listener.Unsubscribe(ctx, channels...) })
}

type shardListener struct {
	listener
	shard driver.ShardListener
}

func (l shardListener) SubscribeShard(ctx context.Context, channels ...string) error {
	return asked(func() error { return l.shard.SubscribeShard(ctx, channels...) })
}

func (l shardListener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	return asked(func() error { return l.shard.UnsubscribeShard(ctx, channels...) })
}

func asked(ask func() error) error { return aside(func(err error) error { return err }, ask) }

// Counted sends commands by a pipeline, and returns one reply to each. If the driver returns more or fewer, nobody
// knows which reply belongs to which command. Then each reply is an error, as after a panic. The outcome on the server
// is unknown.
func Counted(ctx context.Context, pipeline func(context.Context, ...driver.Command) []driver.Reply, commands []driver.Command) []driver.Reply {
	return aside(func(err error) []driver.Reply { return all(commands, err) }, func() []driver.Reply {
		return counted(commands, pipeline(ctx, commands...))
	})
}

func counted(commands []driver.Command, replies []driver.Reply) []driver.Reply {
	if len(replies) != len(commands) {
		return all(commands, fmt.Errorf("the driver returned %d replies to %d commands", len(replies), len(commands)))
	}
	return replies
}

// all are the replies to commands that came to one error.
func all(commands []driver.Command, err error) []driver.Reply {
	return slices.Repeat([]driver.Reply{refused(err)}, len(commands))
}

func refused(err error) driver.Reply { return driver.Reply{Err: err} }

// aside runs a call on a goroutine of its own, and returns what the call or fail returns. So a driver cannot end the
// goroutine of its caller, on which others may rely.
func aside[T any](fail func(error) T, call func() T) T {
	done := make(chan T, 1)
	go func() {
		got := fail(errEnded)
		defer func() { done <- got }()
		defer caught(func(err error) { got = fail(err) })
		got = call()
	}()
	return <-done
}

var errEnded = errors.New("the driver ended its goroutine")

// caught turns a panic into an error. It must be deferred.
func caught(fail func(error)) {
	if p := recover(); p != nil {
		fail(fmt.Errorf("the driver panicked: %v", p))
	}
}

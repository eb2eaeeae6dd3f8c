package goredis_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// dialPanics is a hook that panics when a connection is made.
type dialPanics struct {
	hook
	on *atomic.Bool
}

func (h dialPanics) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if h.on.Load() {
			panic("hook")
		}
		return next(ctx, network, address)
	}
}

// Goal: a hook that panics when the connection of a listener is made ends no process, and no listener
// for ever.
func TestADialHookThatPanicsHarmsTheListenerAlone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := dial(t, eager(server.Addr()))
	on := new(atomic.Bool)
	client.AddHook(dialPanics{func(_ context.Context, _ []redis.Cmder, next func() error) error { return next() }, on})
	d := open(t, client, goredis.WithCommandTimeout(time.Second))
	l, err := d.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	do(t, d, "PING")
	on.Store(true)
	if _, err := d.Listen(t.Context(), driver.Events{}); err == nil {
		t.Error("Listen without a connection")
	} else {
		t.Log(err)
	}
	server.CLI(t, "CLIENT", "KILL", "TYPE", "pubsub")
	server.CLI(t, "CLIENT", "KILL", "TYPE", "normal")
	time.Sleep(3 * time.Second)
	within(t, l.Done(), "the end of the listener")
	closed := make(chan struct{})
	go func() { d.Close(); close(closed) }()
	within(t, closed, "the end of the driver")
}

// Goal: the same while a slot's pool connection is made.
func TestADialHookThatPanicsFailsTheCall(t *testing.T) {
	t.Parallel()
	client := dial(t, eager(redistest.Shared(t).Addr()))
	on := new(atomic.Bool)
	client.AddHook(dialPanics{func(_ context.Context, _ []redis.Cmder, next func() error) error { return next() }, on})
	on.Store(true)
	_, err := goredis.Open(t.Context(), client, goredis.WithCommandTimeout(time.Second))
	t.Log(err)
}

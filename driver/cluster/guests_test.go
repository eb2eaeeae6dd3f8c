package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
)

// silent is a driver of a user that returns nothing once it is told to.
type silent struct {
	driver.Driver
	now *atomic.Bool
}

func (s silent) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if s.now.Load() {
		return nil
	}
	return s.Driver.Pipeline(ctx, commands...)
}

func (s silent) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	return s.Pipeline(ctx, commands...)
}

func (s silent) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if s.now.Load() {
		return nil, nil
	}
	return s.Driver.Listen(ctx, events)
}

// Goal: a Connect that returns nothing, and drivers that do, cost errors, and no process.
func TestWhatUsersReturnIsChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		none := func(context.Context, string) (driver.Driver, error) { return nil, nil }
		_, err := cluster.Open(t.Context(), cluster.Options{Addresses: []string{"a:1"}, Connect: none})
		if wrong, is := errors.AsType[*driver.OptionError](err); !is || wrong.Option != "Connect" {
			t.Error("Open:", err)
		}
		all, now := twoFakes(), new(atomic.Bool)
		d := openWith(t, cluster.Options{Addresses: []string{"a:1"}, Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			one, err := all.connect(ctx, address)
			return silent{one, now}, err
		}})
		now.Store(true)
		get := driver.Command{Words: []string{"GET", "k"}, Key: "k"}
		for _, reply := range append(d.Pipeline(t.Context(), get, get), d.DedicatedPipeline(t.Context(), get)...) {
			if reply.Err == nil || !strings.Contains(reply.Err.Error(), "0 replies to") {
				t.Error("a reply:", reply)
			}
		}
		l, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Subscribe(t.Context(), "channel")
		time.Sleep(time.Minute) // of attempts to listen, and to read the slot map
		l.Close()
	})
}

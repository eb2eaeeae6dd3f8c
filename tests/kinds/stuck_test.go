package kinds_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// stuck is a context of somebody's own type, each method of which hangs from some moment on.
type stuck struct {
	context.Context
	from *atomic.Bool
	let  chan struct{}
}

func (c stuck) hang() {
	if c.from.Load() {
		<-c.let
	}
}

func (c stuck) Done() <-chan struct{}       { c.hang(); return c.Context.Done() }
func (c stuck) Err() error                  { c.hang(); return c.Context.Err() }
func (c stuck) Deadline() (time.Time, bool) { c.hang(); return c.Context.Deadline() }

// Goal: code of a waiter's context runs before the waiter stands where others wait, and not there.
// Method: the contexts of the first two waiters hang from the moment at which they wait. All are served nevertheless.
func TestAContextThatHangsHoldsUpNoOtherWaiter(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		holder := s.Stranger()
		held := holder.Block()
		behindStuck(s.T, func() { holder.Free(held.Hold) }, func(ctx context.Context) error {
			h, err := s.Home.Lock.Lock(ctx)
			if err == nil {
				err = h.Unlock(context.Background())
			}
			return err
		})
	})
	for name, c := range map[string]struct {
		free func(ctx context.Context, c *redlatch.Client) error
		wait func(ctx context.Context, c *redlatch.Client) error
	}{
		"semaphore": {
			func(ctx context.Context, c *redlatch.Client) error { return c.Semaphore("job").AddPermits(ctx, 3) },
			func(ctx context.Context, c *redlatch.Client) error { return c.Semaphore("job").Acquire(ctx, 1) },
		},
		"latch": {
			func(ctx context.Context, c *redlatch.Client) error { return c.Latch("latch").CountDown(ctx) },
			func(ctx context.Context, c *redlatch.Client) error { return c.Latch("latch").Wait(ctx) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				other := s.Stranger()
				check.Must(other.Latch("latch").TrySetCount(t.Context(), 1))
				free := func() { check.Must(0, c.free(t.Context(), other)) }
				behindStuck(t, free, func(ctx context.Context) error { return c.wait(ctx, s.Client) })
			})
		})
	}
}

func behindStuck(t *testing.T, free func(), wait func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Hour)
	defer cancel()
	hangs, done := stuck{ctx, new(atomic.Bool), make(chan struct{})}, make(chan error, 3)
	defer close(hangs.let)
	for _, one := range []context.Context{hangs, hangs, ctx} {
		go func() { done <- wait(one) }()
		time.Sleep(time.Second)
	}
	hangs.from.Store(true)
	free()
	time.Sleep(time.Minute)
	for i := range cap(done) {
		select {
		case err := <-done:
			check.Is(t, "a wait", err, nil)
		default:
			t.Error("served:", i, "of 3")
		}
	}
}

// hidden is a context of which Value hangs as well.
type hidden struct{ stuck }

func (c hidden) Value(key any) any { c.hang(); return c.Context.Value(key) }

// Goal: a waiter's context runs no code in the heartbeats of its client. Method: it hangs for a minute, and all heartbeats
// are counted.
func TestAContextThatHangsStopsNoHeartbeat(t *testing.T) {
	stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		tap, ctx := s.Tap(), s.Limited()
		held := check.Must(s.Stranger().Mutex("job").Lock(ctx))
		hangs, done := hidden{stuck{ctx, new(atomic.Bool), make(chan struct{})}}, make(chan error, 1)
		go func() { done <- check.ErrOf(s.Client.Mutex("job").Lock(hangs)) }()
		time.Sleep(time.Second)
		hangs.from.Store(true)
		var heartbeats atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if slices.Contains(commands[0].Words, protocol.Sessions) {
				heartbeats.Add(1)
			}
			return send(commands...)
		})
		time.Sleep(time.Minute)
		if n := heartbeats.Load(); n < 10 {
			t.Errorf("%d heartbeats in a minute", n)
		}
		close(hangs.let)
		check.Must(0, held.Unlock(ctx))
		check.Is(t, "the wait", <-done, nil)
	})
}

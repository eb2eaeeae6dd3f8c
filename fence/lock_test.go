package fence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
)

// inBubble runs a test with a client of a server in memory, under fake time.
func inBubble(t *testing.T, test func(t *testing.T, c *redlatch.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		d, err := memory.Open(ctx, memory.Options{})
		must(t, err)
		defer d.Close()
		c, err := redlatch.New(d, redlatch.Config{})
		must(t, err)
		defer c.Close(ctx)
		test(t, c)
	})
}

// Goal: a former holder is refused although the newcomer has written nothing.
func TestLockRaisesTheGuard(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *redlatch.Client) {
		var guard fence.Memory
		pass := func(ctx context.Context, token int64) error { return guard.Pass(ctx, token, "stock:7") }
		former, err := fence.Lock(t.Context(), c.Mutex("stock:7"), pass, redlatch.WithLease(time.Minute))
		must(t, err)
		must(t, pass(t.Context(), former.Token()))
		time.Sleep(time.Minute) // the holder is paused
		newcomer, err := fence.Lock(t.Context(), c.Mutex("stock:7"), pass)
		must(t, err)
		fencetest.WantStale(t, pass(t.Context(), former.Token()), former.Token(), newcomer.Token())
		must(t, newcomer.Unlock(t.Context()))
	})
}

func TestLockThatAGuardRefusesIsReleased(t *testing.T) {
	t.Parallel()
	broken := errors.New("the store does not answer")
	for what, want := range map[string]error{"a store that fails": broken, "a newer token": fence.ErrStale} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T, c *redlatch.Client) {
				pass := func(context.Context, int64) error { return want }
				if _, err := fence.Lock(t.Context(), c.Mutex("job"), pass); !errors.Is(err, want) {
					t.Errorf("Lock returned %v, want %v", err, want)
				}
				hold, err := c.Mutex("job").TryLock(t.Context())
				if err != nil {
					t.Fatalf("the lock was not released: %v", err)
				}
				must(t, hold.Unlock(t.Context()))
			})
		})
	}
}

func TestLockOfAMultiHasNoToken(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *redlatch.Client) {
		pass := func(context.Context, int64) error { t.Error("the guard was asked"); return nil }
		both, err := redlatch.NewMulti(c.Mutex("a"), c.Mutex("b"))
		must(t, err)
		if _, err := fence.Lock(t.Context(), both, pass); !errors.Is(err, fence.ErrNoToken) {
			t.Errorf("Lock returned %v, want ErrNoToken", err)
		}
	})
}

// Goal: a guard that hangs does not outlast the hold.
func TestAGuardIsAskedNoLongerThanTheHoldLasts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *redlatch.Client) {
		began := time.Now()
		_, err := fence.Lock(t.Context(), c.Mutex("job"), func(ctx context.Context, _ int64) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, redlatch.WithLease(time.Minute))
		if took := time.Since(began); !errors.Is(err, redlatch.ErrLost) || took > time.Minute {
			t.Errorf("Lock returned %v after %v, want ErrLost within a minute", err, took)
		}
	})
}

func TestLockOfNothingIsAnError(t *testing.T) {
	_, err := fence.Lock(t.Context(), (*redlatch.Mutex)(nil), func(context.Context, int64) error { return nil })
	if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || wrong.Field != "lock" {
		t.Errorf("the error is %v, want a ConfigError", err)
	}
}

// Goal: a panic of pass does not leave a lock behind that is renewed and that nobody can release. Method: a caller
// that recovers, as an HTTP server does.
func TestLockIsReleasedIfPassPanics(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *redlatch.Client) {
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("it panicked with %v", p)
				}
			}()
			_, _ = fence.Lock(t.Context(), c.Mutex("job"), func(context.Context, int64) error { panic("broken") })
		}()
		hold, err := c.Mutex("job").TryLock(t.Context())
		if err != nil {
			t.Fatalf("the lock was not released: %v", err)
		}
		must(t, hold.Unlock(t.Context()))
	})
}

package observe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// What an observer may do.

// An observer that is told of a loss ends the client, as one does that cannot go on.
func TestAnObserverMayCloseItsClient(t *testing.T) {
	for _, kind := range []redlatch.EventKind{redlatch.EventLost, redlatch.EventAcquired, redlatch.EventReleased} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.WithoutCancel(t.Context())
				m := check.Must(memory.Open(ctx, memory.Options{}))
				var c *redlatch.Client
				done := make(chan error, 1)
				c = check.Must(redlatch.New(m, fixture.Quiet(redlatch.Config{Observer: fixture.Observer(func(_ context.Context, e redlatch.Event) {
					if e.Kind == kind {
						limited, cancel := context.WithTimeout(ctx, time.Hour)
						defer cancel()
						select {
						case done <- c.Close(limited):
						default:
						}
					}
				})})))
				h, err := c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Second))
				if err == nil && kind == redlatch.EventReleased {
					_ = h.Unlock(ctx)
				}
				if err := <-done; err != nil {
					t.Errorf("Close, called by the observer of %q, waits for the observer: %v", kind, err)
				}
				_ = c.Close(ctx)
				m.Close()
			})
		})
	}
}

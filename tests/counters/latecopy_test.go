package counters_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A request that was told that it changes nothing never does: not by a copy that comes later, when it could.
func TestALateCopyOfARefusedRequestChangesNothing(t *testing.T) {
	type counters struct {
		sem   *redlatch.Semaphore
		latch *redlatch.Latch
	}
	for what, verb := range map[string]struct {
		full  bool
		ask   func(ctx context.Context, c counters) error
		admit func(ctx context.Context, c counters) error // after it a first request would change something
		count func(ctx context.Context, c counters) (int, error)
	}{
		"Drain": {
			ask:   func(ctx context.Context, c counters) error { return check.ErrOf(c.sem.Drain(ctx)) },
			admit: func(ctx context.Context, c counters) error { return c.sem.Release(ctx, 3) },
			count: func(ctx context.Context, c counters) (int, error) { return c.sem.Available(ctx) },
		},
		"AddPermits": {
			full: true,
			ask: func(ctx context.Context, c counters) error {
				if err := c.sem.AddPermits(ctx, 2); !errors.Is(err, redlatch.ErrUnsupported) {
					return errors.New("too many permits were added")
				}
				return nil
			},
			admit: func(ctx context.Context, c counters) error { return c.sem.Acquire(ctx, 5) },
			count: func(ctx context.Context, c counters) (int, error) { return c.sem.Available(ctx) },
		},
		"TrySetCount": {
			ask:   func(ctx context.Context, c counters) error { return check.ErrOf(c.latch.TrySetCount(ctx, 2)) },
			admit: func(ctx context.Context, c counters) error { return c.latch.CountDown(ctx) },
			count: func(ctx context.Context, c counters) (int, error) { return c.latch.Count(ctx) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx, other := s.Limited(), s.Stranger() // no later request of this client comes before the copy
				c := counters{s.Client.Semaphore("job"), s.Client.Latch("latch")}
				far := counters{other.Semaphore("job"), other.Latch("latch")}
				permits := 0
				if verb.full {
					permits = math.MaxInt32
				}
				check.Must(far.sem.TrySetPermits(ctx, permits))
				check.Must(far.latch.TrySetCount(ctx, 1))
				check.Must(0, verb.ask(ctx, c)) // the server knows the script
				var late []driver.Command
				s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					if late == nil {
						late = commands
						return stage.FailAll(commands, stage.ErrCut)
					}
					return send(commands...)
				})
				check.Must(0, verb.ask(ctx, c))
				check.Must(0, verb.admit(ctx, far))
				want := check.Must(verb.count(ctx, far))
				s.Memory.Pipeline(ctx, late...)
				if got := check.Must(verb.count(ctx, far)); got != want {
					t.Errorf("a late copy made it %d, want %d", got, want)
				}
			})
		})
	}
}

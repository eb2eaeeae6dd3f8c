package redlatch_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// loseFirst has the connection break that the next request is on. arrive sends that request once more.
func loseFirst(ctx context.Context, s *stage, reply error) (arrive func()) {
	var copies []func()
	s.tap().set(func(commands []driver.Command, send sender) []driver.Reply {
		copies = append(copies, func() { s.memory.Pipeline(ctx, commands...) })
		switch {
		case len(copies) == 1:
			return failAll(commands, errCut)
		case reply != nil && len(copies) == 2:
			return failAll(commands, reply)
		}
		return send(commands...)
	})
	return func() { copies[0]() }
}

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
			ask:   func(ctx context.Context, c counters) error { return second(c.sem.Drain(ctx)) },
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
			ask:   func(ctx context.Context, c counters) error { return second(c.latch.TrySetCount(ctx, 2)) },
			admit: func(ctx context.Context, c counters) error { return c.latch.CountDown(ctx) },
			count: func(ctx context.Context, c counters) (int, error) { return c.latch.Count(ctx) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				ctx, other := s.limited(), s.stranger() // no later request of this client comes before the copy
				c := counters{s.client.Semaphore("job"), s.client.Latch("latch")}
				far := counters{other.Semaphore("job"), other.Latch("latch")}
				permits := 0
				if verb.full {
					permits = math.MaxInt32
				}
				must(far.sem.TrySetPermits(ctx, permits))
				must(far.latch.TrySetCount(ctx, 1))
				must(0, verb.ask(ctx, c)) // the server knows the script
				arrive := loseFirst(ctx, s, nil)
				must(0, verb.ask(ctx, c))
				must(0, verb.admit(ctx, far))
				want := must(verb.count(ctx, far))
				arrive()
				if got := must(verb.count(ctx, far)); got != want {
					t.Errorf("a late copy made it %d, want %d", got, want)
				}
			})
		})
	}
}

// A server that refuses a repeated request says nothing about the copy that was not answered.
func TestAnErrorAfterALostRequestLeavesTheOutcomeUnknown(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		ctx, sem := s.limited(), s.client.Semaphore("job")
		must(sem.TrySetPermits(ctx, 1))
		must(0, sem.Release(ctx, 1))
		arrive := loseFirst(ctx, s, &driver.ServerError{Message: "NOPERM not now"})
		if err := sem.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Errorf("Release: %v", err)
		}
		time.Sleep(time.Second)
		arrive()
		wantAvailable(t, sem, 3)
	})
}

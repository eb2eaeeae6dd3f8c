package observe_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A trace is the value of a context, as a tracer puts its span there.
type traceKey struct{}

func traced(ctx context.Context, trace string) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

// events collects what an observer is told, each with the trace of its context.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) Observe(ctx context.Context, event redlatch.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf("%s %s by %v", event.Lock, event.Kind, ctx.Value(traceKey{})))
}

func (e *events) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait() // the loss is told by a goroutine of its own
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(e.all)
	slices.Sort(want)
	if !slices.Equal(e.all, want) {
		t.Errorf("events: %q, want %q", e.all, want)
	}
	e.all = nil
}

func TestEventsCarryTheContextOfTheirCaller(t *testing.T) {
	seen := &events{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		ctx := context.WithoutCancel(t.Context())
		job := s.Client.Mutex("job")
		hold := check.Must(job.Lock(traced(ctx, "lock")))
		_, err := job.TryLock(traced(ctx, "try"))
		check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
		if err := hold.Unlock(traced(ctx, "unlock")); err != nil {
			t.Error(err)
		}
		seen.want(t, "job acquired by lock", "job not acquired by try", "job released by unlock")

		_ = check.Must(job.Lock(traced(ctx, "short"), redlatch.WithLease(time.Second)))
		time.Sleep(2 * time.Second)
		seen.want(t, "job acquired by short", "job lost by short")
	})
}

func TestEventsOfMembersCarryTheContextOfTheWhole(t *testing.T) {
	seen := &events{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		ctx := context.WithoutCancel(t.Context())
		both := check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.RWMutex("b")))
		hold := check.Must(both.Lock(traced(ctx, "lock")))
		if err := hold.Unlock(traced(ctx, "unlock")); err != nil {
			t.Error(err)
		}
		seen.want(t, "a acquired by lock", "b acquired by lock", "a released by unlock", "b released by unlock")

		taken := check.Must(s.Other(redlatch.Config{}).Mutex("a").Lock(ctx))
		_, err := both.TryLock(traced(ctx, "try"))
		check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
		seen.want(t, "b acquired by try", "a not acquired by try", "b released by try")
		_ = taken.Unlock(ctx)
	})
}

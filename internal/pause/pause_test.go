package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/random"
)

func TestAPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		timeout time.Duration // of the context
		want    error
		after   time.Duration
	}{
		{"the time is shorter", time.Minute, nil, time.Second},
		{"the context is shorter", 100 * time.Millisecond, context.DeadlineExceeded, 100 * time.Millisecond},
		{"the context has ended", 0, context.DeadlineExceeded, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				began := time.Now()
				if err := pause.For(ctx, time.Second); !errors.Is(err, c.want) {
					t.Errorf("the error is %v, want %v", err, c.want)
				}
				if took := time.Since(began); took != c.after {
					t.Errorf("it took %v, want %v", took, c.after)
				}
			})
		})
	}
}

// Goal: no time takes no timer.
func TestAPauseOfNoTime(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _ = pause.For(t.Context(), 0) }); n > 0 {
		t.Errorf("it takes %v allocations", n)
	}
}

// Goal: the pauses double from the first to the last, each is up to half shorter, at random, and Reset
// begins anew. Method: 50 backoffs, side by side.
func TestPausesGrowWithinTheirBounds(t *testing.T) {
	t.Parallel()
	const first, last = 10 * time.Millisecond, 300 * time.Millisecond
	want := []time.Duration{10, 20, 40, 80, 160, 300, 300}
	seen := make(map[time.Duration]bool)
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			b := pause.Backoff{First: first, Max: last}
			for range 2 {
				for i, most := range want {
					most *= time.Millisecond
					began := time.Now()
					if err := b.Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
					took := time.Since(began)
					if seen[took] = true; took > most || took < most/2 {
						t.Errorf("pause %d is %v, want %v or up to half less", i, took, most)
					}
				}
				b.Reset()
			}
		})
	}
	if len(seen) < 500 {
		t.Errorf("%d of 700 pauses differ", len(seen))
	}
}

func TestEdgesOfPauses(t *testing.T) {
	defer random.Replace(func(uint64) uint64 { return 0 })() // without jitter
	const longest = time.Duration(1<<63 - 1)
	for _, c := range []struct {
		first, last time.Duration
		others      int
		want        time.Duration
	}{
		{0, 0, 5, 0}, // the zero value
		{time.Second, time.Second, 5, time.Second},
		{time.Minute, time.Second, 0, time.Second},
		{1, longest, 62, 1 << 62},
		{1, longest, 63, longest}, // and no overflow
		{1, longest, 1 << 40, longest},
		{time.Second, 0, 3, 0},
	} {
		if got := (pause.Backoff{First: c.first, Max: c.last}).After(c.others); got != c.want {
			t.Errorf("after %d pauses from %v to %v: %v, want %v", c.others, c.first, c.last, got, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := pause.Backoff{First: time.Hour, Max: time.Hour}
	if err := b.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("behind the end of its context: %v", err)
	}
}

// Goal: a context of package context needs no child to answer by itself, and any other one does, also below values.
func TestContextsOfOthersAreBound(t *testing.T) {
	t.Parallel()
	type key struct{}
	type theirs struct{ context.Context }
	for _, parent := range []context.Context{context.Background(), t.Context()} {
		own, cancel := context.WithTimeout(context.WithValue(parent, key{}, 1), time.Hour)
		defer cancel()
		valued := context.WithValue(own, key{}, 2)
		for ctx, same := range map[context.Context]bool{own: true, valued: true, theirs{valued}: false, context.WithValue(theirs{own}, key{}, 3): false} {
			bound, end := pause.Bound(ctx)
			until, _ := ctx.Deadline()
			if got, limited := bound.Deadline(); (bound.Done() == ctx.Done()) != same || got != until || !limited || bound.Value(key{}) != ctx.Value(key{}) {
				t.Errorf("%T: bound to %v, until %v", ctx, bound, got)
			}
			end()
		}
	}
}

package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
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

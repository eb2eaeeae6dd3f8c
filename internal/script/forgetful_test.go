package script_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// prompt is a driver that ends its calls within a second by itself, as package rueidis does.
type prompt struct{ *fake }

func (prompt) CommandTimeout() time.Duration { return second }

// Goal: a server that never knows a script, not even with its source, is not asked beyond the
// runner's bound, and not without pauses. A proxy that spreads connections over several
// servers, or a broken one, can be such a server.
func TestAServerThatForgetsEveryScriptIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*script.Runner, context.Context) error{
		"one": func(r *script.Runner, ctx context.Context) error {
			_, err := r.Run(ctx, acquire(me, 1)("job"))
			return err
		},
		"several": func(r *script.Runner, ctx context.Context) error {
			_, err := r.RunAll(ctx, acquire(me, 1)("job"), acquire(me, 1)("other"))
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: []answer{{refused("NOSCRIPT No matching script.")}}, latency: ms}
			ctx, cancel := context.WithTimeout(t.Context(), 30*second)
			defer cancel()
			began := time.Now()
			err := run(script.NewRunner(prompt{f}, second), ctx)
			if took := time.Since(began); err == nil || took > 2*second {
				t.Errorf("%s: it took %v and %d requests, error %v", name, took, len(f.requests), err)
			}
			if n := len(f.requests); n > 100 {
				t.Errorf("%s: %d requests", name, n)
			}
		})
	}
}

package schedule

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
)

// RunWithClock is Run on a machine with a clock of its own.
func RunWithClock(ctx context.Context, clock func() time.Time, l redlatch.Lock, times Times, job Job) error {
	return run(ctx, clock, l, times, job, nil)
}

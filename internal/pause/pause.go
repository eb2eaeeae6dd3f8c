// Package pause waits for a time or the end of a context, whichever comes first.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends before that, it returns the context's error at once.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

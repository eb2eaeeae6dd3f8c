package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

// watch returns the hold for the supervisor, and a function that ends the watch. A renewal
// detects the loss of a hold. A hold with a fixed lease is not renewed, so watch asks Redis.
func (t *task) watch(client *redlatch.Client, hold *redlatch.Hold) (supervise.Hold, func()) {
	if !t.fixed {
		return hold, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchedHold{Hold: hold, gone: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.look(ctx, client, t.name, min(t.limits.Lease/3, maxLook))
	}()
	return w, func() { cancel(); <-ended }
}

// maxLook is the longest time between two requests, the renewal interval of the usual lease.
const maxLook = 10 * time.Second

// watchedHold is a hold with a fixed lease.
type watchedHold struct {
	*redlatch.Hold
	gone chan struct{} // closed when this owner has the lock no more
}

// Done is closed when the hold is lost.
func (w *watchedHold) Done() <-chan struct{} { return w.gone }

// look asks Redis who holds the lock, until ctx ends or it is another owner. If Redis does
// not answer, the deadline of the lease still holds.
func (w *watchedHold) look(ctx context.Context, client *redlatch.Client, name string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		status, err := readStatusOf(ctx, client, name, w.Owner())
		if _, held := status.HeldBy(w.Owner()); err == nil && !held {
			close(w.gone)
			return
		}
	}
}

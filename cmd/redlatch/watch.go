package main

import (
	"context"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

// watch returns the hold as the command's supervisor sees it, and what ends the watch. A
// hold that is renewed learns of its loss by that. One with a fixed lease is never heard
// of again, so somebody has to look.
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

// maxLook is how often a lock with a long lease is looked at: as often as one with the
// usual lease is renewed.
const maxLook = 10 * time.Second

// watchedHold is a hold with a fixed lease.
type watchedHold struct {
	*redlatch.Hold
	gone chan struct{} // closed when somebody else has the lock, or nobody
}

// Done is closed when the hold is lost.
func (w *watchedHold) Done() <-chan struct{} { return w.gone }

// look asks Redis who holds the lock, until ctx ends or it is somebody else. While there
// is no answer, the lease goes by the clock.
func (w *watchedHold) look(ctx context.Context, client *redlatch.Client, name string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		status, err := lookAt(ctx, client, name)
		if _, held := status.HeldBy(w.Owner()); err == nil && !held {
			close(w.gone)
			return
		}
	}
}

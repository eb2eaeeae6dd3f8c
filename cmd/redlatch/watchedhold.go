package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
	"github.com/redlatch/redlatch/internal/lock"
)

// watch returns the hold for the supervisor, and a function that ends the watch. A renewal
// detects the loss of a hold, and a recall. A hold with a fixed lease is not renewed, so watch asks Redis.
// A recall is a SIGTERM, as from outside.
func (t *task) watch(client *redlatch.Client, hold *redlatch.Hold, signals chan<- os.Signal) (supervise.Hold, func()) {
	recalled := func(ctx context.Context, why error) {
		if !t.quiet {
			tell(fmt.Errorf("%w; the command gets SIGTERM", why))
		}
		select {
		case signals <- syscall.SIGTERM:
		case <-ctx.Done():
		}
	}
	if t.lease > 0 {
		w := &watchedHold{hold: hold, gone: make(chan struct{}), recalled: recalled}
		return w, beside(context.Background(), func(ctx context.Context) { w.look(ctx, client, t.name, min(t.limits.Lease/3, maxLook)) })
	}
	return growingHold{hold, t}, beside(context.Background(), func(ctx context.Context) {
		select {
		case <-hold.Recalled():
			recalled(ctx, hold.RecallErr())
		case <-ctx.Done():
		}
	})
}

// maxLook is the longest time between two requests, the renewal interval of the usual lease.
const maxLook = 10 * time.Second

// growingHold is a hold that is renewed. Its lease grows with the process tree.
type growingHold struct {
	*redlatch.Hold
	task *task
}

// Limit is the time of --max-hold.
func (g growingHold) Limit() time.Time { return (*lock.Hold)(g.Hold).Limit() }

func (g growingHold) Extend(ctx context.Context, lease time.Duration) error {
	err := g.Hold.Extend(ctx, lease)
	if err == nil && !g.task.quiet {
		tell(fmt.Errorf("%s: its lease is %v from now on: %v would leave too little time to stop all that the command has started", g.task.kind.of(g.task.name), lease, g.task.config.LeaseTime))
	}
	return err
}

// watchedHold is a hold with a fixed lease.
type watchedHold struct {
	hold *redlatch.Hold
	gone chan struct{} // closed when this owner has the lock no more

	recalled func(ctx context.Context, why error) // is called once
}

// Deadline is that of the hold.
func (w *watchedHold) Deadline() time.Time { return w.hold.Deadline() }

// Done is closed when the hold is lost.
func (w *watchedHold) Done() <-chan struct{} { return w.gone }

// look asks Redis who holds the lock, until ctx ends or it is another owner. If Redis does
// not answer, the deadline of the lease still holds.
func (w *watchedHold) look(ctx context.Context, client *redlatch.Client, name string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for told := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		status, err := readStatusOf(ctx, client, name, w.hold.Owner())
		switch h := holderIn(status, w.hold.Owner()); {
		case err != nil:
		case h == nil:
			close(w.gone)
			return
		case h.Recall != nil && !told:
			told = true
			w.recalled(ctx, h.Recall)
		}
	}
}

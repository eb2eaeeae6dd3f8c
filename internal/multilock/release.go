package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// releaseAttempt releases what was taken for a group that did not form. After an error more
// members than the next holder can do without may stay locked for a lease.
func (g *group) releaseAttempt() error {
	_ = g.close()
	if err := g.release(g.under, lockerr.ErrReleased); err != nil {
		return g.failed(fmt.Errorf("%w: %w", lockerr.ErrUnknownOutcome, pause.NotOfCaller(err)))
	}
	return nil
}

// server is one server of one client.
type server struct {
	*lock.Manager
	shard string
}

// release releases every member that is held, those on one server in one request, and all servers
// side by side. It returns when as many are free as the group needs, or all have answered. What
// is still under way then goes on behind it. Before is how the group had ended.
//
// The error says that the whole was lost before or turned out to be, and that more members may
// still be locked than the next holder can do without.
func (g *group) release(ctx context.Context, before error) error {
	holds := slices.DeleteFunc(g.alive(), func(h *lock.Hold) bool { return !h.BeginUnlock() })
	servers := make(map[server][]*lock.Hold)
	for _, h := range holds {
		at := server{h.Manager(), h.Manager().Shard(h.Ref().Lock)}
		servers[at] = append(servers[at], h)
	}
	outcomes := make(chan error, len(holds))
	for at, holds := range servers {
		if len(servers) == 1 {
			at.ReleaseTogether(ctx, holds, outcomes)
		} else {
			go at.ReleaseTogether(ctx, holds, outcomes)
		}
	}
	var errs, lost, failed []error
	free := 0
	for i := 0; i < len(holds) && free < g.need; i++ {
		switch err := <-outcomes; {
		case err == nil || errors.Is(err, lockerr.ErrReleased):
			free++
		case errors.Is(err, lockerr.ErrLost):
			lost = append(lost, err)
		default:
			failed = append(failed, err)
		}
	}
	switch {
	case before != nil && !errors.Is(before, lockerr.ErrReleased):
		errs = append(errs, before)
	case before == nil && len(holds)-len(lost) < g.need:
		errs = lost
	}
	if len(failed) > len(g.entries)-g.need {
		errs = append(errs, failed...)
	}
	return errors.Join(errs...)
}

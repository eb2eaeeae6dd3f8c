package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
)

// Extend makes a hold with a fixed lease last for d from now, if that is longer than it lasts anyway.
// The request is a renewal: it raises the TTL for the owner, and never lowers it.
//
// Between any two lines this can happen:
//
//	the process dies         the lock ends with the TTL that Redis has: the old one, or d
//	the reply is lost        the same request is sent again
//	no reply comes in time   ErrUnknownOutcome. The deadline stays. If it passes, the lock is released
//	the hold is gone         ErrLost, as a renewal finds it
//	the hold is released     ErrReleased. A request behind the release finds nothing
//	the deadline passes      ErrLost. What was extended for nobody is released
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	g, single := h.backend.(*Grant)
	if !single || !g.fixed(h) {
		return &lockerr.ConfigError{Field: "Extend", Reason: "it is for the hold of a single lock that was taken with WithLease; other holds are renewed, or end with their whole"}
	}
	if err := h.Err(); err != nil {
		return err
	}
	if life := &g.manager.life; !life.enterRelease() {
		return g.ref.lockError(lockerr.ErrClosed)
	} else {
		defer life.leave()
	}
	term := renew.Term{Lease: d, Until: h.until}
	result, err := g.manager.runner.Run(ctx, g.renewCall(term))
	if err = h.renewed("extend", term, result, err); err != nil {
		g.outlived()
	}
	return err
}

// fixed says that a hold was taken with a lease that is not renewed.
func (g *Grant) fixed(h *Hold) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return h.opts.Fixed
}

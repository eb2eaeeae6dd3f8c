package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// Extend makes a hold with a fixed lease last for d from now, if that is longer than it lasts anyway.
// The request is a renewal: it raises the TTL for the owner, and never lowers it.
//
// Between any two lines this can happen:
//
//	the process dies         the lock ends with the TTL that Redis has: the old one, or d
//	the reply is lost        the same request is sent again
//	no reply comes in time   ErrUnknownOutcome. The deadline stays, and the lock may outlive it
//	the hold is gone         ErrLost, as a renewal finds it
//	the hold is released     ErrReleased. A request behind the release finds nothing, because the
//	                         owner's name is not used again
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
	result, err := g.manager.runner.Run(ctx, script.Renew([]script.Renewal{g.renewal(term)}))
	answer := readRenewed(result, err, 1)[0]
	switch {
	case answer.Err != nil:
		err = Failure("extend", g.ref.Name, answer.Err)
	case !answer.Held:
		g.Lost(renew.ErrGone)
		return h.Err()
	default:
		g.extend(result.Asked, term.Span(result.Asked))
		err = h.Err()
	}
	if err != nil {
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

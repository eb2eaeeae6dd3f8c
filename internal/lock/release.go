package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// Unlock releases one hold, and tells the observer.
func (g *Grant) Unlock(ctx context.Context, h *Hold) error {
	now := time.Now()
	released, err := g.release(ctx, h)
	g.observeRelease(ctx, h, now, released, err)
	return err
}

func (g *Grant) observeRelease(ctx context.Context, h *Hold, began time.Time, released bool, err error) {
	if released && !h.forOthers {
		g.manager.observe(ctx, g.releaseEvent(EventReleased, h, began, err))
	}
}

// release is Unlock. It reports whether the hold was held until then.
func (g *Grant) release(ctx context.Context, h *Hold) (released bool, err error) {
	g.manager.EnterEnd()
	defer g.manager.Leave()
	if g.requestSlot != nil && !g.Expire() {
		limited, leave := g.takeSlotToRelease(ctx)
		defer leave()
		ctx = limited
	}
	e, err := g.endHold(h)
	switch {
	case errors.Is(err, lockerr.ErrReleased):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, g.manager.settle(ctx, &e)
}

// ReleaseTogether is Unlock for many holds of one manager, most of them in one request. It
// reports the outcome of each. The observer is told outside of the operation, because it may
// close the client.
func (m *Manager) ReleaseTogether(ctx context.Context, holds []*Hold, outcomes chan<- error) {
	ctx, now := detached(ctx), time.Now()
	ended, shared, errs := m.releaseTogether(ctx, holds, outcomes)
	for _, h := range shared { // each has to wait for its owner's request slot, and may take its time
		go func() {
			g, now := h.grant(), time.Now()
			err := g.ref.lockError(lockerr.ErrUnknownOutcome)
			defer func() { outcomes <- err }() // also if the caller's context or the observer ends the goroutine
			var released bool
			released, err = g.release(ctx, h)
			g.observeRelease(ctx, h, now, released, err)
		}()
	}
	defer func() { // also if the observer ends the goroutine
		for _, err := range errs {
			outcomes <- err
		}
	}()
	for i, err := range errs {
		g := ended[i].Grant
		m.observe(ctx, g.releaseEvent(EventReleased, &g.first, now, err))
	}
}

// releaseTogether releases those holds that have an owner of their own. It returns them, with
// their outcomes, and the others.
func (m *Manager) releaseTogether(ctx context.Context, holds []*Hold, outcomes chan<- error) (ended []ending, shared []*Hold, errs []error) {
	m.EnterEnd()
	defer m.Leave()
	for _, h := range holds {
		if h.grant().requestSlot != nil {
			shared = append(shared, h)
		} else if e, err := h.grant().endHold(h); err != nil {
			outcomes <- err
		} else {
			ended = append(ended, e)
		}
	}
	return ended, shared, m.settleAll(ctx, ended...)
}

// detached is a context that does not end with ctx. The runner bounds a release.
func detached(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

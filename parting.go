package redlatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// release gives back all members as their holder wishes.
func (g *group) release(ctx context.Context, _ *Hold) error { return g.disband(ctx, g.close()) }

// rollback gives back what was taken for a group that is not to be, each part of it bounded by
// Config.ReleaseTimeout. After an error more members than the next holder can do without may
// stay locked for a lease.
func (g *group) rollback() error {
	_ = g.close()
	if err := g.disband(context.Background(), ErrReleased); err != nil {
		return fmt.Errorf("redlatch: %s %q: %w: %w", g.kind, g.name, ErrUnknownOutcome, err)
	}
	return nil
}

// disband gives back every member that is held, those of one client in one request and the
// clients side by side. It returns when as many are free as the group needs, or all have
// answered; what is still under way then goes on behind it. Before is how the group had ended.
//
// The error says that the whole was lost before or turned out to be, and that more members may
// still be locked than the next holder can do without.
func (g *group) disband(ctx context.Context, before error) error {
	holds := slices.DeleteFunc(g.alive(), func(h *Hold) bool { return !h.parts() })
	clients := make(map[*Client][]*Hold)
	for _, h := range holds {
		c := h.tenure().client
		clients[c] = append(clients[c], h)
	}
	outcomes := make(chan error, len(holds))
	for c, holds := range clients {
		if len(clients) == 1 {
			c.releaseAtOnce(ctx, holds, outcomes)
		} else {
			go c.releaseAtOnce(ctx, holds, outcomes)
		}
	}
	var errs, lost, failed []error
	free := 0
	for i := 0; i < len(holds) && free < g.need; i++ {
		switch err := <-outcomes; {
		case err == nil || errors.Is(err, ErrReleased):
			free++
		case errors.Is(err, ErrLost):
			lost = append(lost, err)
		default:
			failed = append(failed, err)
		}
	}
	switch {
	case before != nil && !errors.Is(before, ErrReleased):
		errs = append(errs, before)
	case before == nil && len(holds)-len(lost) < g.need:
		errs = lost
	}
	if len(failed) > len(g.seats)-g.need {
		errs = append(errs, failed...)
	}
	return errors.Join(errs...)
}

// releaseAtOnce is release for many holds, most of them in one request. It reports the
// outcome of each.
func (c *Client) releaseAtOnce(ctx context.Context, holds []*Hold, outcomes chan<- error) {
	if !c.gate.enterToRelease() {
		<-c.closed // Close gives every hold back
	} else {
		defer c.gate.leave()
	}
	var last []departure
	var shared []*Hold
	for _, h := range holds {
		t := h.tenure()
		if t.shared != nil {
			shared = append(shared, h)
		} else if _, err := t.drop(h); err != nil {
			outcomes <- err
		} else { // without a shared owner it was the only one
			t.leave()
			last = append(last, departure{t, h.read, c.heirs(t, h.read)})
		}
	}
	for i, err := range c.freeAll(detached(ctx), last) {
		t := last[i].t
		c.observe(Released, t.point, t.owner, time.Since(t.first.since), err)
		outcomes <- err
	}
	for _, h := range shared {
		outcomes <- c.release(ctx, h.tenure(), h) // each has to wait for its owner's turn
	}
}

// finish ends the group. The mutex is held.
func (g *group) finish(why error) {
	g.hold.finish(why)
	g.cancel(why)
	for _, part := range g.parts {
		part.client.quorums.Delete(g)
	}
	g.unbind()
	if g.formed && why != ErrReleased {
		// It takes tenures' mutexes, of which the caller may hold one.
		g.parts[0].client.background.Go(g.abandon)
	}
	g.note()
}

// abandon stops the renewal of what is left of a group that was lost.
func (g *group) abandon() {
	for _, h := range g.alive() {
		h.tenure().fix(h)
	}
}

// firstRestore is when a missing member is asked for again at first: it may just be on its
// way back from its last holder. The pauses then grow up to the interval of renewals.
const firstRestore = 20 * time.Millisecond

// plan sees to it that a quorum asks again for missing members. What is not renewed is not
// restored. The mutex is held.
func (g *group) plan() {
	if g.formed && g.count(missing) > 0 && !g.whole.fixed && g.again == nil && g.over() == nil {
		g.again = time.AfterFunc(g.pause, g.restore)
		g.pause = min(2*g.pause, g.parts[0].client.config.every(g.wants[0].lease))
	}
}

// restore asks for the members that are missing. Nobody else has a majority meanwhile, so it
// does not matter what their servers may have forgotten.
func (g *group) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.again = nil
	for i := range g.seats {
		if g.seats[i].state == missing && g.over() == nil {
			g.seats[i] = seat{state: asked} // the end of the former hold is no news of the next
			g.send(i, func() { g.ask(i) })
		}
	}
}

package redlatch

import (
	"context"
	"errors"
	"slices"
	"time"
)

// release gives back all members, those of one client in one request and the clients side
// by side. It returns when as many are free as the group needs, or all have answered; what
// is still under way then goes on behind it.
func (g *group) release(ctx context.Context, _ *Hold) error {
	before := g.close()
	outcomes, asked := g.disband(ctx)
	var lost, failed []error
	free := 0
	for range asked {
		switch err := <-outcomes; {
		case err == nil:
			free++
		case errors.Is(err, ErrLost):
			lost = append(lost, err)
		default:
			failed = append(failed, err)
		}
		if free >= g.need {
			break
		}
	}
	return g.account(before, asked, lost, failed)
}

// rollback gives back what was taken for a group that is not to be, and waits until that
// is confirmed, each part of it bounded by Config.ReleaseTimeout. After an error more
// members than the next holder can do without may stay locked for a lease.
func (g *group) rollback() error {
	_ = g.close()
	outcomes, asked := g.disband(context.Background())
	var failed []error
	for range asked {
		if err := <-outcomes; err != nil && !errors.Is(err, ErrLost) {
			failed = append(failed, err)
		}
	}
	if len(failed) <= len(g.seats)-g.need {
		return nil
	}
	return errors.Join(failed...)
}

// account is the error of a release: that the whole was lost before or turned out to be,
// and that more members may still be locked than the next holder can do without.
func (g *group) account(before error, asked int, lost, failed []error) error {
	var errs []error
	switch {
	case before != nil && !errors.Is(before, ErrReleased):
		errs = append(errs, before)
	case before == nil && asked-len(lost) < g.need:
		errs = lost
	}
	if len(failed) > len(g.seats)-g.need {
		errs = append(errs, failed...)
	}
	return errors.Join(errs...)
}

// disband gives back every member that is held, and returns where the outcome of each can
// be read, and of how many.
func (g *group) disband(ctx context.Context) (outcomes <-chan error, asked int) {
	holds := slices.DeleteFunc(g.alive(), func(h *Hold) bool { return !h.parts() })
	all := make(chan error, len(holds))
	clients := make(map[*Client][]*Hold)
	for _, h := range holds {
		c := h.tenure().client
		clients[c] = append(clients[c], h)
	}
	for c, holds := range clients {
		entered := c.gate.enterToRelease()
		if len(clients) == 1 {
			c.releaseAtOnce(ctx, entered, holds, all)
		} else {
			go c.releaseAtOnce(ctx, entered, holds, all)
		}
	}
	return all, len(holds)
}

// releaseAtOnce is release for many holds, most of them in one request. It reports the
// outcome of each.
func (c *Client) releaseAtOnce(ctx context.Context, entered bool, holds []*Hold, outcomes chan<- error) {
	if !entered {
		<-c.closed // Close gives every hold back
	} else {
		defer c.gate.leave()
	}
	var last []departure
	var shared, freed []*Hold
	for _, h := range holds {
		t := h.tenure()
		if t.shared != nil {
			shared = append(shared, h)
			continue
		}
		switch _, err := t.drop(h); {
		case err == nil: // without a shared owner it was the only one
			t.leave()
			last = append(last, departure{t, h.read, c.heirs(t, h.read)})
			freed = append(freed, h)
		case errors.Is(err, ErrReleased):
			outcomes <- nil
		default:
			outcomes <- err
		}
	}
	for i, err := range c.freeAll(detached(ctx), last) {
		c.observe(Released, last[i].t.point, last[i].t.owner, time.Since(freed[i].since), err)
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
	g.enlist((*roster).leave)
	for _, timer := range []*time.Timer{g.alarm, g.again} {
		if timer != nil {
			timer.Stop()
		}
	}
	if g.unbind != nil {
		g.unbind()
	}
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
	lost := slices.ContainsFunc(g.seats, func(s seat) bool { return s.state == missing && !s.barred })
	if lost && g.need < len(g.seats) && !g.whole.fixed && g.formed && g.again == nil && g.over() == nil {
		g.again = time.AfterFunc(g.pause, g.restore)
		g.pause = min(2*g.pause, g.parts[0].client.config.every(g.wants[0].lease))
	}
}

// restore asks for the members that are missing. Nobody else has a majority meanwhile, so it
// does not matter what their servers may have forgotten.
func (g *group) restore() {
	g.mu.Lock()
	g.again = nil
	var lost []int
	for i := range g.seats {
		if g.seats[i].state == missing && !g.seats[i].barred && g.over() == nil {
			g.seats[i].state = asked
			lost = append(lost, i)
		}
	}
	g.mu.Unlock()
	for _, i := range lost {
		g.send(i, func() { g.ask(i) })
	}
}

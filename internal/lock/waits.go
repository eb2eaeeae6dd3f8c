package lock

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// waits are waits that began before a moment, the longest first. The wait queues know who waits, and the attempt
// knows the holds that it waits under.
func (m *Manager) waits(limit int, before time.Time) []script.Wait {
	var all []script.Wait
	for _, w := range m.queues.Oldest(limit, before, forLock) {
		a := w.Value.(*attempt)
		all = append(all, script.Wait{Owner: a.owner, Lock: a.ref.Lock, Mode: a.ref.waitMode(), Since: w.Since(), Under: a.under(w.Since())})
	}
	return all
}

// forLock says that a waiter waits for a lock: not for permits or a latch, which no single owner holds.
func forLock(value any) bool {
	a, is := value.(*attempt)
	return is && !a.ref.permits
}

// waitMode is for what a waiter waits, as Redis is told.
func (r *Ref) waitMode() string {
	switch {
	case r.fair:
		return protocol.WaitFair
	case r.read:
		return protocol.WaitRead
	case r.key.lock.rw:
		return protocol.WaitWrite
	}
	return protocol.WaitExclusive
}

// under are the owners in Redis whose holds are not released before the attempt has ended: the other
// grants of its owner, and those below whose contexts it was made. All were held when the attempt began
// to wait: another goroutine may have acquired a grant of the same owner later.
func (a *attempt) under(since time.Time) (owners []string) {
	if a.shared != nil {
		owners = a.shared.held(since)
	}
	for _, h := range a.below {
		for _, hold := range h.holds() {
			if owner := hold.Owner(); hold.Ended() == nil && protocol.OwnedBy(a.manager.ID, owner) && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	return owners
}

// holdings are the contexts below holds that a context is below, the innermost first. To find them runs code of the
// caller, so whoever waits finds them before anybody else asks for them.
func holdings(ctx context.Context) (all []holding) {
	for len(all) < protocol.MaxUnder {
		h, ok := ctx.Value(heldKey{}).(holding)
		if !ok {
			break
		}
		all, ctx = append(all, h), h.above()
	}
	return all
}

// held are the owners in Redis of the locks that the owner has held since a moment.
func (o *owner) held(since time.Time) (owners []string) {
	o.mu.Lock()
	grants := slices.Collect(maps.Values(o.grants))
	o.mu.Unlock()
	for _, g := range grants { // not under the mutex: a grant that ends is forgotten
		if g.heldSince(since) {
			owners = append(owners, g.owner)
		}
	}
	slices.Sort(owners)
	return owners
}

// heldKey is the key of the innermost holding of a context.
type heldKey struct{}

// holding is a context below some holds.
type holding interface {
	holds() []*Hold
	above() context.Context
}

func (c holdContext) above() context.Context { return c.Context }

// holds are the single locks of the hold.
func (c holdContext) holds() []*Hold {
	if members := c.hold.Members(); members != nil {
		return members
	}
	return []*Hold{c.hold}
}

// Below is a context below holds that are still being collected, for those who look for deadlocks.
func Below(ctx context.Context, holds func() []*Hold) context.Context {
	return collecting{ctx, holds}
}

type collecting struct {
	context.Context
	collected func() []*Hold
}

func (c collecting) holds() []*Hold         { return c.collected() }
func (c collecting) above() context.Context { return c.Context }

// Value answers the key of the innermost holding.
func (c collecting) Value(key any) any {
	if key == (heldKey{}) {
		return c
	}
	return c.Context.Value(key)
}

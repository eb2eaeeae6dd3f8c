package lock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/random"
)

// owner is an identity that several acquisitions share: it re-enters the locks that it holds. In
// Redis it has another name for each grant, so that no request of an earlier grant can touch a
// later one.
type owner struct {
	mu     sync.Mutex
	grants map[lockID]*Grant // of the locks that it holds or asks for
}

type ownerKey struct{ manager *Manager }

// WithOwner returns a context below which every acquisition by this manager has one owner.
func (m *Manager) WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{m}, &owner{grants: make(map[lockID]*Grant)})
}

// WithoutOwner returns a context below which no acquisition has an owner of WithOwner: each has one of its own.
func WithoutOwner(ctx context.Context) context.Context { return ownerless{ctx} }

// ownerless is a context without an owner, for any manager.
type ownerless struct{ context.Context }

// Value answers no key of an owner, and its own with itself.
func (c ownerless) Value(key any) any {
	switch key.(type) {
	case ownerKey:
		return nil
	case ownerlessKey:
		return c
	}
	return c.Context.Value(key)
}

type ownerlessKey struct{}

// nextOwner makes a new owner's name: for a lock a number, which plays the part of Java's thread id,
// and for a permit an id.
func (r *Ref) nextOwner() string {
	if r.permits {
		return random.ID()
	}
	return protocol.Owner(r.manager.ID, r.manager.lastOwner.Add(1))
}

// grant returns the owner's grant of a lock. If there is none it makes one, which is the
// caller's to acquire, and whose request slot is taken.
func (o *owner) grant(r *Ref, fresh func() *Grant) (g *Grant, made bool) {
	for {
		o.mu.Lock()
		g = o.grants[r.key.lock]
		if g == nil {
			g = fresh()
			g.requestSlot = make(chan struct{}, 1)
			g.requestSlot <- struct{}{}
			o.grants[r.key.lock] = g
			o.mu.Unlock()
			return g, true
		}
		o.mu.Unlock()
		if !g.Expire() { // not under the mutex: a grant that ends is forgotten
			return g, false
		}
		o.forget(g)
	}
}

// forget forgets a grant that has ended.
func (o *owner) forget(g *Grant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.grants[g.ref.key.lock] == g {
		delete(o.grants, g.ref.key.lock)
	}
}

// has says that g is the owner's grant of its lock.
func (o *owner) has(g *Grant) bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.grants[g.ref.key.lock] == g
}

// upgrades says that asking for r would be to ask for the write side of a lock that the owner
// reads.
func (o *owner) upgrades(r *Ref) bool {
	o.mu.Lock()
	g := o.grants[r.key.lock]
	o.mu.Unlock()
	return g != nil && !r.read && !g.Expire() && g.reads()
}

// takeSlot waits for the owner's request slot, to make the next request for the lock. The requests set
// counts, so they follow one another. A caller that does not want to wait for the lock waits for
// a request about a lock that the owner holds, which is bounded.
func (g *Grant) takeSlot(ctx, limited context.Context, wait bool) error {
	select {
	case g.requestSlot <- struct{}{}:
		return nil
	default:
	}
	if !wait && g.held() == 0 {
		return fmt.Errorf("redlatch: lock %q: %w: its owner is just asking for it", g.ref.Name, lockerr.ErrNotAcquired)
	}
	select {
	case g.requestSlot <- struct{}{}:
		return nil
	case <-limited.Done():
		return g.ref.notAcquired(ctx, outcome{})
	case <-g.manager.Life.Context.Done():
		return g.ref.lockError(lockerr.ErrClosed)
	}
}

// takeSlotToRelease waits for the request slot. It returns how to leave it, and a context that bounds
// what follows, so that the release timeout is enough for both. If the owner's other request
// hangs, the release goes on without: the hold has to end, and each request sets the counts anew.
func (g *Grant) takeSlotToRelease(ctx context.Context) (limited context.Context, leave func()) {
	select {
	case g.requestSlot <- struct{}{}:
		return ctx, func() { <-g.requestSlot }
	default:
	}
	timeout := g.manager.ReleaseTimeout
	limited, cancel := context.WithTimeout(ctx, timeout)
	select {
	case g.requestSlot <- struct{}{}:
		return limited, func() { cancel(); <-g.requestSlot }
	case <-time.After(timeout / 2):
		return limited, cancel
	}
}

// Deadlock says why taking the lock below ctx would mean to wait for oneself, or nil.
func (r *Ref) Deadlock(ctx context.Context) error { return r.deadlock(ctx, r.manager.ownerOf(ctx)) }

func (r *Ref) deadlock(ctx context.Context, shared *owner) error {
	if shared != nil && shared.upgrades(r) {
		return r.upgradeError()
	}
	g, _ := ctx.Value(&r.key).(*Grant)
	switch {
	case g == nil || shared.has(g):
		return nil
	case !r.read && g.reads():
		return r.upgradeError()
	}
	advice := "; to re-enter, take both below one context of Client.WithOwner"
	if ctx.Value(ownerlessKey{}) != nil || g.first.forOthers {
		advice = "" // it would not help
	}
	return fmt.Errorf("redlatch: lock %q: %w, as %s%s", r.Name, lockerr.ErrReentry, g.owner, advice)
}

// Owned says that acquisitions below ctx have an owner of WithOwner.
func (m *Manager) Owned(ctx context.Context) bool { return m.ownerOf(ctx) != nil }

func (m *Manager) ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{m}).(*owner)
	return o
}

// holdContext is the context of a hold: it knows which lock it is under.
type holdContext struct {
	context.Context
	hold *Hold
}

// Value answers the key of a lock with the grant of the innermost hold of that lock that is
// still held, and the key of the innermost holding with itself.
func (c holdContext) Value(key any) any {
	switch k := key.(type) {
	case *Key:
		if g := c.hold.backend.Holding(k); g != nil && c.hold.Err() == nil {
			return g
		}
	case heldKey:
		return c
	}
	return c.Context.Value(key)
}

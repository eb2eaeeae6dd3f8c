package redlatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// owner is an identity that several acquisitions share: it re-enters the locks that it
// holds. In Redis it has another name for each tenure, so that no request of an earlier
// tenure can touch a later one.
type owner struct {
	mu      sync.Mutex
	tenures map[place]*tenure // of the locks that it holds or asks for
}

type ownerKey struct{ client *Client }

// WithOwner returns a context with an owner of its own. Below that context every acquisition
// by this client is made by this owner: Lock inside Lock re-enters and raises the count in
// Redis. The context does what the thread does in Java. Goroutines that are to exclude each
// other need an owner each. The owner's number in Redis (Hold.Owner) is a new one each time
// it takes a lock of which it held nothing.
func (c *Client) WithOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerKey{c}, &owner{tenures: make(map[place]*tenure)})
}

// nextOwner makes a new owner's name. The number plays the part of Java's thread id.
func (c *Client) nextOwner() string {
	return protocol.Owner(c.id, c.lastOwner.Add(1))
}

func (c *Client) ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{c}).(*owner)
	return o
}

// at returns the owner's tenure of a lock. If there is none it makes one, which is the
// caller's to acquire, and whose turn is taken.
func (o *owner) at(p *point, fresh func() *tenure) (t *tenure, made bool) {
	for {
		o.mu.Lock()
		t = o.tenures[p.held.place]
		if t == nil {
			t = fresh()
			t.turn = make(chan struct{}, 1)
			t.turn <- struct{}{}
			o.tenures[p.held.place] = t
			o.mu.Unlock()
			return t, true
		}
		o.mu.Unlock()
		if !t.ended() { // not under the mutex: a tenure that ends is dropped
			return t, false
		}
		o.drop(t)
	}
}

// drop forgets a tenure that has ended.
func (o *owner) drop(t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tenures[t.point.held.place] == t {
		delete(o.tenures, t.point.held.place)
	}
}

// upgrades says that asking for p would be to ask for the write side of a lock that the owner
// reads.
func (o *owner) upgrades(p *point) bool {
	o.mu.Lock()
	t := o.tenures[p.held.place]
	o.mu.Unlock()
	return t != nil && !p.read && !t.ended() && t.reads()
}

// takeTurn waits for the turn to make the owner's next request for the lock of a tenure. The
// requests set counts, so they follow one another. Who does not want to wait for the lock waits
// for a request about a lock that the owner holds, which is bounded.
func (c *Client) takeTurn(ctx, limited context.Context, t *tenure, wait bool) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	default:
	}
	if !wait && t.held() == 0 {
		return fmt.Errorf("redlatch: lock %q: %w: its owner is just asking for it", t.point.name, ErrNotAcquired)
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-limited.Done():
		return c.notAcquired(ctx, t.point, answer{})
	case <-c.life.Done():
		return fmt.Errorf("redlatch: lock %q: %w", t.point.name, ErrClosed)
	}
}

// takeTurnToRelease waits for the turn, and returns how to give it back, and a context that
// bounds what follows so that Config.ReleaseTimeout is enough for both. If the owner's other
// request hangs, it goes on without: the hold has to end, and each request sets the counts anew.
func (c *Client) takeTurnToRelease(ctx context.Context, t *tenure) (limited context.Context, give func()) {
	select {
	case t.turn <- struct{}{}:
		return ctx, func() { <-t.turn }
	default:
	}
	limited, cancel := context.WithTimeout(ctx, c.config.ReleaseTimeout)
	select {
	case t.turn <- struct{}{}:
		return limited, func() { cancel(); <-t.turn }
	case <-time.After(c.config.ReleaseTimeout / 2):
		return limited, cancel
	}
}

// heldKey asks a context whether it stems from a hold of a lock. It is asked by its
// address, which takes no memory on the path of every acquisition.
type heldKey struct {
	client *Client
	place  place
}

// holdContext is the context of a hold: it knows which lock it is under.
type holdContext struct {
	context.Context
	hold *Hold
}

// Value answers a heldKey with the tenure of the innermost hold of that lock that is still
// held.
func (c holdContext) Value(key any) any {
	if k, ok := key.(*heldKey); ok {
		if t := c.hold.keeper.holding(k); t != nil && c.hold.Err() == nil {
			return t
		}
	}
	return c.Context.Value(key)
}

// deadlock says why taking p below ctx would mean to wait for oneself, or nil.
func (c *Client) deadlock(ctx context.Context, p *point, shared *owner) error {
	if shared != nil && shared.upgrades(p) {
		return errUpgrade(p)
	}
	t, _ := ctx.Value(&p.held).(*tenure)
	switch {
	case t == nil || shared != nil && t.shared == shared:
		return nil
	case !p.read && t.reads():
		return errUpgrade(p)
	}
	return fmt.Errorf("redlatch: lock %q: %w, as %s; use Client.WithOwner to re-enter", p.name, ErrReentry, t.owner)
}

func errUpgrade(p *point) error {
	return fmt.Errorf("redlatch: lock %q: %w, by the same owner", p.name, ErrUpgrade)
}

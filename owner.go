package redlatch

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch/internal/protocol"
)

// owner is an identity that several acquisitions share: it re-enters the locks that
// it holds.
type owner struct {
	name string

	mu    sync.Mutex
	seats map[string]*seat // by the lock's name
}

// seat is one owner at one lock.
type seat struct {
	// turn serialises the owner's requests for the lock, so that the counts they
	// set follow one another. Capacity one: whoever has put a token in has the turn.
	turn chan struct{}
	// users and tenure are guarded by the owner's mutex. The seat is dropped when
	// there is neither.
	users  int
	tenure *tenure
}

type ownerKey struct{ client *Client }

// WithOwner returns a context below which every acquisition by this client is made
// by one owner, so that Lock inside Lock re-enters and raises the count in Redis. A
// context plays the part of Java's thread. Goroutines that are to exclude each
// other need an owner each.
func (c *Client) WithOwner(ctx context.Context) context.Context {
	o := &owner{name: c.nextOwner(), seats: make(map[string]*seat)}
	return context.WithValue(ctx, ownerKey{c}, o)
}

// nextOwner makes a new owner's name. The number plays the part of Java's thread id.
func (c *Client) nextOwner() string {
	return protocol.Owner(c.id, c.lastOwner.Add(1))
}

func (c *Client) ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{c}).(*owner)
	return o
}

// sit returns the owner's seat at a lock. Each sit is followed by one rise.
func (o *owner) sit(lock string) *seat {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seats[lock]
	if s == nil {
		s = &seat{turn: make(chan struct{}, 1)}
		o.seats[lock] = s
	}
	s.users++
	return s
}

func (o *owner) rise(lock string, s *seat) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.users--
	if s.users == 0 && s.tenure == nil {
		delete(o.seats, lock)
	}
}

// current returns the tenure at a seat, or nil if there is none that is held.
func (o *owner) current(s *seat) *tenure {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.tenure != nil && s.tenure.ended() {
		s.tenure = nil
	}
	return s.tenure
}

// settle puts a tenure that was granted into its seat.
func (o *owner) settle(s *seat, t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.tenure = t
}

// vacate empties the seat of a tenure that ended.
func (o *owner) vacate(lock string, t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.seats[lock]; s != nil && s.tenure == t {
		s.tenure = nil
		if s.users == 0 {
			delete(o.seats, lock)
		}
	}
}

// heldKey asks a context whether it stems from a hold of a lock.
type heldKey struct {
	client *Client
	lock   string
}

// holdContext is the context of a hold: it knows which lock it is under.
type holdContext struct {
	context.Context
	hold *Hold
}

// Value answers a heldKey with the innermost hold of that lock that is still held.
func (c holdContext) Value(key any) any {
	t := c.hold.tenure
	if k, ok := key.(heldKey); ok && k.client == t.client && k.lock == t.point.name && c.hold.Err() == nil {
		return c.hold
	}
	return c.Context.Value(key)
}

// heldBelow returns the owner that holds the lock in ctx, or "".
func (c *Client) heldBelow(ctx context.Context, lock string) string {
	if h, ok := ctx.Value(heldKey{c, lock}).(*Hold); ok {
		return h.Owner()
	}
	return ""
}

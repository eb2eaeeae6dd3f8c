package redlatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/redlatch/redlatch/internal/protocol"
)

// owner is an identity that several acquisitions share: it re-enters the locks that
// it holds.
type owner struct {
	name string

	mu    sync.Mutex
	seats map[place]*seat
}

// place is where an owner can sit: one side of one lock.
type place struct {
	channel string
	shared  bool
}

func (p *point) place() place { return place{p.channel, p.side.shared()} }

// seat is one owner at one place.
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
	o := &owner{name: c.nextOwner(), seats: make(map[place]*seat)}
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

// sit returns the owner's seat. Each sit is followed by one rise.
func (o *owner) sit(p *point) *seat {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.seats[p.place()]
	if s == nil {
		s = &seat{turn: make(chan struct{}, 1)}
		o.seats[p.place()] = s
	}
	s.users++
	return s
}

func (o *owner) rise(p *point, s *seat) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.users--
	if s.users == 0 && s.tenure == nil {
		delete(o.seats, p.place())
	}
}

// holds says whether the owner holds a place.
func (o *owner) holds(at place) bool {
	o.mu.Lock()
	s := o.seats[at]
	o.mu.Unlock()
	return s != nil && o.current(s) != nil
}

// current returns the tenure at a seat, or nil if there is none that is held.
func (o *owner) current(s *seat) *tenure {
	o.mu.Lock()
	t := s.tenure
	o.mu.Unlock()
	// Not under the mutex: a tenure that ends vacates its seat.
	if t == nil || t.ended() {
		return nil
	}
	return t
}

// settle puts a tenure that was granted into its seat.
func (o *owner) settle(s *seat, t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.tenure = t
}

// vacate empties the seat of a tenure that ended.
func (o *owner) vacate(p *point, t *tenure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.seats[p.place()]; s != nil && s.tenure == t {
		s.tenure = nil
		if s.users == 0 {
			delete(o.seats, p.place())
		}
	}
}

// heldKey asks a context whether it stems from a hold of a lock. It is asked by its
// address, which takes no memory on the path of every acquisition.
type heldKey struct {
	client  *Client
	channel string
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
	if shared != nil && !p.side.shared() &&
		shared.holds(place{p.channel, true}) && !shared.holds(place{p.channel, false}) {
		return fmt.Errorf("redlatch: lock %q: %w, by the same owner %s", p.name, ErrUpgrade, shared.name)
	}
	t, _ := ctx.Value(&p.held).(*tenure)
	switch {
	case t == nil || shared != nil && shared.name == t.owner:
		return nil
	case t.point.side.shared() && !p.side.shared():
		return fmt.Errorf("redlatch: lock %q: %w, by this context as %s", p.name, ErrUpgrade, t.owner)
	}
	return fmt.Errorf("redlatch: lock %q: %w, as %s; use Client.WithOwner to re-enter", p.name, ErrReentry, t.owner)
}

package fence

import (
	"context"
	"slices"
	"sync"
)

// turns keeps apart, for each resource, those who come with different tokens. Those
// with the same one belong to one holder and go together. All Handlers of the process share
// one, because several may guard one resource.
type turns struct {
	mu    sync.Mutex
	rooms map[resource]*room
}

// resource is what a store knows by a name.
type resource struct {
	store Store
	name  string
}

// room is one resource while somebody is inside or waits. Its fields are guarded by
// turns.mu.
type room struct {
	inside  int
	token   int64         // of those inside
	passed  int64         // the newest that the store has let pass meanwhile
	waiting []int64       // tokens, each as often as it waits
	changed chan struct{} // closed, and made anew, when anything above changes
}

// enter waits until nobody with another token is inside, and nobody with a newer one
// waits. The error is a *StaleError as soon as a newer one has passed, or the cause
// for which ctx has ended. Without an error, leave must follow.
func (t *turns) enter(ctx context.Context, token int64, at resource) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.room(at)
	r.waiting = append(r.waiting, token)
	defer t.settle(at, r)
	defer func() {
		i := slices.Index(r.waiting, token)
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}()
	for !r.admits(token) {
		if token < r.passed {
			return &StaleError{Token: token, Last: r.passed}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.await(ctx, r.changed)
	}
	r.inside++
	r.token = token
	return nil
}

func (t *turns) room(at resource) *room {
	if t.rooms == nil {
		t.rooms = make(map[resource]*room)
	}
	r := t.rooms[at]
	if r == nil {
		r = &room{changed: make(chan struct{})}
		t.rooms[at] = r
	}
	return r
}

// admits says whether a token that waits may enter.
func (r *room) admits(token int64) bool {
	return (r.inside == 0 || r.token == token) && slices.Max(r.waiting) == token
}

// await gives up the mutex until a room has changed or ctx has ended.
func (t *turns) await(ctx context.Context, changed <-chan struct{}) {
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// pass notes that the store has let those inside pass.
func (t *turns) pass(at resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[at]
	r.passed = max(r.passed, r.token)
	t.settle(at, r)
}

// leave is the way out of enter.
func (t *turns) leave(at resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[at]
	r.inside--
	t.settle(at, r)
}

// settle tells those who wait that the room has changed, and clears an empty one away.
func (t *turns) settle(at resource, r *room) {
	close(r.changed)
	r.changed = make(chan struct{})
	if r.inside == 0 && len(r.waiting) == 0 {
		delete(t.rooms, at)
	}
}

package fence

import (
	"context"
	"slices"
	"sync"
)

// turns keeps apart, for each resource, those who come with different tokens. Those
// with the same one belong to one holder and go together.
type turns struct {
	mu    sync.Mutex
	rooms map[string]*room
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
func (t *turns) enter(ctx context.Context, token int64, resource string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.room(resource)
	r.waiting = append(r.waiting, token)
	defer t.settle(resource, r)
	defer func() {
		at := slices.Index(r.waiting, token)
		r.waiting = slices.Delete(r.waiting, at, at+1)
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

func (t *turns) room(resource string) *room {
	if t.rooms == nil {
		t.rooms = make(map[string]*room)
	}
	r := t.rooms[resource]
	if r == nil {
		r = &room{changed: make(chan struct{})}
		t.rooms[resource] = r
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
func (t *turns) pass(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[resource]
	r.passed = max(r.passed, r.token)
	t.settle(resource, r)
}

// leave is the way out of enter.
func (t *turns) leave(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rooms[resource]
	r.inside--
	t.settle(resource, r)
}

// settle tells those who wait that the room has changed, and clears an empty one away.
func (t *turns) settle(resource string, r *room) {
	close(r.changed)
	r.changed = make(chan struct{})
	if r.inside == 0 && len(r.waiting) == 0 {
		delete(t.rooms, resource)
	}
}

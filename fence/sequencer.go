package fence

import (
	"context"
	"slices"
	"sync"
)

// sequencer runs requests with different tokens for one resource one after another. Requests with the
// same token belong to one holder and run side by side. All Handlers of the process share one
// value, because several Handlers may guard one resource.
type sequencer struct {
	mu     sync.Mutex
	states map[resource]*state
}

// resource is what a store knows by a name.
type resource struct {
	store Store
	name  string
}

// state is that of one resource while requests run or wait. sequencer.mu guards its fields.
type state struct {
	running int           // requests
	token   int64         // of the running requests
	passed  int64         // the newest that the store has let pass meanwhile
	waiting []int64       // tokens, each as often as it waits
	changed chan struct{} // closed, and made anew, when anything above changes
}

// enter waits until no request with another token runs, and none with a newer token waits. The
// error is a *StaleError as soon as a newer token has passed, or the cause for which ctx has
// ended. After nil, leave must follow.
func (t *sequencer) enter(ctx context.Context, token int64, at resource) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state(at)
	s.waiting = append(s.waiting, token)
	defer t.notify(at, s)
	defer func() {
		i := slices.Index(s.waiting, token)
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}()
	for !s.admits(token) {
		if token < s.passed {
			return &StaleError{Token: token, Last: s.passed}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.await(ctx, s.changed)
	}
	s.running++
	s.token = token
	return nil
}

func (t *sequencer) state(at resource) *state {
	s := t.states[at]
	if s == nil {
		s = &state{changed: make(chan struct{})}
		t.states[at] = s
	}
	return s
}

// admits says whether a waiting token may enter.
func (s *state) admits(token int64) bool {
	return (s.running == 0 || s.token == token) && slices.Max(s.waiting) == token
}

// await unlocks the mutex until a state has changed or ctx has ended.
func (t *sequencer) await(ctx context.Context, changed <-chan struct{}) {
	t.mu.Unlock()
	defer t.mu.Lock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// pass notes that the store has let the running requests pass.
func (t *sequencer) pass(at resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.states[at]
	s.passed = max(s.passed, s.token)
	t.notify(at, s)
}

// leave ends what enter began.
func (t *sequencer) leave(at resource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.states[at]
	s.running--
	t.notify(at, s)
}

// notify wakes the waiting requests of a resource, and removes an unused state.
func (t *sequencer) notify(at resource, s *state) {
	close(s.changed)
	s.changed = make(chan struct{})
	if s.running == 0 && len(s.waiting) == 0 {
		delete(t.states, at)
	}
}

package redlatch

import (
	"context"
	"time"
)

// keeper is what stands behind a hold and decides about it: the tenure of a single lock,
// or the group of a Multi or Quorum.
type keeper interface {
	// ended says whether it is over, and ends it if its time is.
	ended() bool
	// valid says that the local deadline has not passed.
	valid() bool
	deadline() time.Time
	// owned is the owner's name, and issued the fencing token.
	owned() string
	issued() int64
	// release gives the hold back, and detach gives it up without telling Redis.
	release(ctx context.Context, h *Hold) error
	detach(h *Hold)
	// holding is the tenure by which it holds what the key asks for, or nil.
	holding(key *heldKey) *tenure
	members() []*Hold
}

var (
	_ keeper = (*tenure)(nil)
	_ keeper = (*group)(nil)
)

func (t *tenure) valid() bool         { return !t.Term().Over(time.Now()) }
func (t *tenure) deadline() time.Time { return t.Term().Deadline() }
func (t *tenure) owned() string       { return t.owner }
func (t *tenure) members() []*Hold    { return nil }

func (t *tenure) issued() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token
}

func (t *tenure) release(ctx context.Context, h *Hold) error { return t.client.release(ctx, t, h) }

func (t *tenure) detach(h *Hold) {
	if remaining, err := t.drop(h); err == nil && remaining == 0 {
		t.leave()
		t.unprotect()
		t.client.hub.Look(t.point.channel, t.waiter)
	}
}

func (t *tenure) holding(key *heldKey) *tenure {
	if *key == t.point.held {
		return t
	}
	return nil
}

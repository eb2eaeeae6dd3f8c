package lock

import (
	"context"
	"time"
)

// Event is one thing that happened to a lock. See redlatch.Event.
type Event struct {
	Kind, Lock, Owner string
	Took              time.Duration
	Err               error
}

// The kinds of events.
const (
	EventAcquired    = "acquired"
	EventNotAcquired = "not acquired"
	EventReleased    = "released"
	EventLost        = "lost"
)

// observe tells the observer, with the context of the caller.
func (m *Manager) observe(ctx context.Context, e Event) {
	if m.settings.Observe != nil {
		m.settings.Observe(ctx, e)
	}
}

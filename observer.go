package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
)

// Observer is told of events. Its method is called in the goroutine where the event happens,
// and must not block. A separate goroutine tells it of losses, and calls the logger. The
// method may use the client, and close it. It must be safe for concurrent use.
//
// The context is that of the call that the event belongs to, with its values: of Lock for
// EventAcquired, EventNotAcquired and EventLost, of Unlock for EventReleased. It may have
// ended. What a Multi or a Quorum does about a member has the context of its Lock or Unlock.
// Client.Close tells of no release.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one thing that happened to a lock of this client.
type Event struct {
	Kind  EventKind
	Lock  string
	Owner string // "" if no owner got the lock
	// Took is how long it took: the wait of EventAcquired and EventNotAcquired, the time
	// held of EventReleased and EventLost.
	Took time.Duration
	// Err is why, for EventNotAcquired, EventLost, and an EventReleased that failed.
	Err error
}

// EventKind is what happened.
type EventKind string

// The events.
const (
	EventAcquired    EventKind = lock.EventAcquired    // "acquired"
	EventNotAcquired EventKind = lock.EventNotAcquired // "not acquired"
	EventReleased    EventKind = lock.EventReleased    // "released"
	EventLost        EventKind = lock.EventLost        // "lost"
)

// observe tells an observer.
func observe(o Observer) func(context.Context, lock.Event) {
	return func(ctx context.Context, e lock.Event) {
		o.Observe(ctx, Event{Kind: EventKind(e.Kind), Lock: e.Lock, Owner: e.Owner, Took: e.Took, Err: e.Err})
	}
}

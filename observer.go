package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
)

// Observer is told of events. Its method is called in the goroutine where the event happens,
// and must not block. A separate goroutine tells it of losses, and calls the logger. The
// method may use the client, and close it. It must be safe for concurrent use. If it panics in
// a goroutine of this package, the process ends: for a loss, and for members of a Quorum.
//
// The context has the values of the caller's context: that of Unlock for EventReleased, and
// that of Lock for all other events. It may have ended. Events of a member of a Multi or a
// Quorum have the context of the Lock or Unlock of the whole. There is no event for what
// Client.Close releases.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one thing that happened to a lock of this client.
type Event struct {
	Kind  EventKind
	Lock  string
	Owner string // "" if no owner got the lock
	// Took is the wait for EventAcquired and EventNotAcquired, and the time held for
	// EventReleased and EventLost.
	Took time.Duration
	// Err is the reason for EventNotAcquired, EventLost, and an EventReleased that failed.
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

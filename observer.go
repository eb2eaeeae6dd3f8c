package redlatch

import "time"

// Observer is told of events. Its method is called in the goroutine where the event happens,
// and must not block. A separate goroutine tells it of losses, and calls the logger. The
// method may use the client, and close it. It must be safe for concurrent use.
type Observer interface {
	Observe(Event)
}

// Event is one thing that happened to a lock of this client.
type Event struct {
	Kind  EventKind
	Lock  string
	Owner string
	// Took is how long it took: the wait of Acquired and NotAcquired, the time
	// held of Released and Lost.
	Took time.Duration
	// Err is why, for NotAcquired, Lost, and a Released that failed.
	Err error
}

// EventKind is what happened.
type EventKind string

// The events.
const (
	Acquired    EventKind = "acquired"
	NotAcquired EventKind = "not acquired"
	Released    EventKind = "released"
	Lost        EventKind = "lost"
)

// observe tells the observer of something that took so long.
func (c *Client) observe(kind EventKind, p *point, owner string, took time.Duration, err error) {
	if c.config.Observer != nil {
		c.config.Observer.Observe(Event{Kind: kind, Lock: p.name, Owner: owner, Took: took, Err: err})
	}
}

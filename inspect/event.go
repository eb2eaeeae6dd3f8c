package inspect

import "time"

// EventKind is what happened to a lock between two readings.
type EventKind string

// The kinds of events.
const (
	EventGranted  EventKind = "granted"  // an owner now holds the lock
	EventReentry  EventKind = "reentry"  // an owner's count has changed
	EventRenewed  EventKind = "renewed"  // the remaining time of an owner has grown
	EventReleased EventKind = "released" // an owner no longer holds the lock, and had time left
	EventExpired  EventKind = "expired"  // an owner no longer holds the lock, and its time was over
	EventForced   EventKind = "forced"   // somebody forced an unlock; this package never yields it, and the program that did it may
	EventWaits    EventKind = "waits"    // an owner has joined the queue of a fair lock, or more processes listen
	EventLeft     EventKind = "left"     // an owner has left the queue without the lock, or fewer processes listen
	EventPaused   EventKind = "paused"   // the heartbeat of a protected holder is overdue, or its process is gone
	EventResumed  EventKind = "resumed"  // the heartbeat is in time again
	EventNoted    EventKind = "noted"    // an owner says what its hold is for
	EventRecalled EventKind = "recalled" // somebody asks an owner for the lock, or the owner knows of it
	EventFinding  EventKind = "finding"  // something is wrong that was not wrong before
)

// Event is one thing that happened to a lock.
type Event struct {
	At    time.Time // when it was seen, by the clock of this machine
	Lock  string
	Kind  EventKind
	Owner string        // "" if it concerns no single owner
	Name  string        // Config.Name of the owner's client; "" if unknown
	TTL   time.Duration // the owner's remaining time; 0 if the event has none
	Text  string        // one sentence for people
}

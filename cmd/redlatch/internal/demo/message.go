package demo

import "time"

// task is the line that a worker reads from its stdin. It comes that way, not as
// arguments, because everybody can read those and the URL may hold a password.
type task struct {
	Worker int           `json:"worker"`
	URL    string        `json:"url"`
	Lock   string        `json:"lock"`
	Fair   bool          `json:"fair,omitempty"`
	Folder string        `json:"folder"` // of the counter and the journal
	Lease  time.Duration `json:"leaseNanos"`
	Work   time.Duration `json:"workNanos"`
}

// event is a line that a worker writes to its stdout.
type event struct {
	Kind   eventKind `json:"kind"`
	Client string    `json:"client,omitempty"` // ready: the first half of its owners
	order            // holding: what it was ordered
	Done   int       `json:"done,omitempty"` // resting: increments so far
}

type eventKind string

const (
	ready   eventKind = "ready"
	waiting eventKind = "waiting"
	holding eventKind = "holding"
	resting eventKind = "resting"
	lost    eventKind = "lost" // the hold ended under it

	// What the parent sees by itself, before the first event and after the last.
	starting eventKind = "starting"
	left     eventKind = "left"
)

package demo

import "time"

// task is the first line that an actor reads from its stdin. It is no argument, because
// everybody can read those and the URL may hold a password.
type task struct {
	Number  int           `json:"number"`
	URL     string        `json:"url"`
	Lock    string        `json:"lock"`
	Fair    bool          `json:"fair,omitempty"`
	Protect bool          `json:"protect,omitempty"`
	Lease   time.Duration `json:"leaseNanos"`
	Counter string        `json:"counter"`   // the file
	Rest    time.Duration `json:"restNanos"` // the longest time between two visits, twice the shortest
}

// event is a line that an actor writes to its stdout.
type event struct {
	Kind   kind  `json:"kind"`
	Number int   `json:"number"`  // of the actor
	At     int64 `json:"atNanos"` // wall clock; all processes run on one machine

	Client    string `json:"client,omitempty"`     // waiting: the first half of its owners
	Since     int64  `json:"sinceNanos,omitempty"` // enter: when it began to wait
	Visit     int    `json:"visit,omitempty"`      // enter: counts the entries of this actor
	Read      int64  `json:"read,omitempty"`       // leave: the number that it found; it wrote one more
	Watchdogs int    `json:"watchdogs,omitempty"`  // doubts and holds: that it knows of
	Error     string `json:"error,omitempty"`      // gone: why, if it should not have
}

type kind string

const (
	starting kind = "starting" // as the parent sees it, before the first event
	waiting  kind = "waiting"
	enter    kind = "enter"  // the lock was granted, the critical section begins
	doubts   kind = "doubts" // the hold is not valid until Redis has answered
	holds    kind = "holds"  // the hold is valid, said again after a pause
	leave    kind = "leave"  // the increment is written; the release comes next
	lost     kind = "lost"   // left without writing, because the hold was not valid
	resting  kind = "resting"
	gone     kind = "left" // the process has ended, says the parent; At is when it was killed
)

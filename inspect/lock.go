package inspect

import (
	"time"

	"github.com/redlatch/redlatch"
)

// Kind is the kind of a lock or a counter, as far as its keys tell.
type Kind string

// The kinds. A fair lock without a queue looks like a mutex. A semaphore looks like a latch, and so does one
// with leased permits while nobody has a permit.
const (
	KindMutex     Kind = "mutex"
	KindFair      Kind = "fair"
	KindReadWrite Kind = "readwrite"
	KindPermits   Kind = "permits" // a semaphore with leased permits
	KindCounter   Kind = "counter" // a semaphore or a latch
)

// Lock is a lock at one moment, as Redis has it.
type Lock struct {
	Name     string
	Kind     Kind
	Mode     redlatch.Mode // "" while the lock is free
	Owners   int           // how many owners hold it; a writer that reads as well counts twice. Holders has about the first thousand
	Holders  []Holder
	TTL      time.Duration // remaining; -1 without expiry, 0 while free
	Queue    []Waiter      // who waits for a fair lock, the next first
	Queued   int           // how many owners are in the queue; Queue has about the first thousand
	Waiting  int           // Go and Java processes that listen for its release; -1 if unknown
	Token    int64         // the last fencing token issued, 0 if none
	Findings []Finding     // what is wrong with it
	Seen     time.Time     // when the lock was read, by the clock of this machine

	serverTime time.Time // the same by the server's clock, which is exact; zero if unknown
}

// Holder is one owner that holds a lock.
type Holder struct {
	Owner      string
	Count      int             // how many holds it has
	Write      bool            // it holds the write side of a read-write lock
	TTL        time.Duration   // remaining; -1 without expiry
	Holds      []time.Duration // for a reader: the remaining time of each of its holds
	Process    *Process        // nil if no connection of its process was found
	Protection *Protection     // nil if it has no session with the watchdogs, or that is unknown
	Noted
}

// Noted is what stands beside a hold or a permit.
type Noted struct {
	Note   string                  // what it is held for (redlatch.WithNote), "" if unknown
	Recall *redlatch.RecalledError // who asks the holder for it, and why; nil if nobody does
	Told   bool                    // the holder knows of that
}

// Waiter is one owner that waits for a fair lock.
type Waiter struct {
	Owner    string
	Deadline time.Time // from which on Java clients treat it as dead, by the server's clock
	Process  *Process  // nil if no connection of its process was found
}

// Process is what the connections of a server say about the process of an owner.
type Process struct {
	Client string // the UUID with which the names of its owners begin
	Name   string // Config.Name of the client
	Addr   string // of the process's end of a connection, "host:port"
}

// Protection is what the watchdogs know about a holder.
type Protection struct {
	Alive       bool      // its heartbeat is in time
	Dead        bool      // its heartbeat is overdue, and its process is gone
	PausedSince time.Time // about the time of the last heartbeat, by the server's clock; zero if Alive
	Watchdog    string    // the watchdog that renews its holds while it is paused; "" if none or unknown
}

// Finding is one thing that is wrong with a lock.
type Finding struct {
	Code string // one of the codes of this package, for programs
	Text string // one sentence for people, with names and values
}

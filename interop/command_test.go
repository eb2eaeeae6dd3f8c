//go:build interop

package interop_test

import (
	"strings"
	"time"
)

// command is what one thread of a client is to do. The Java probe reads the same words.
type command struct {
	ID     int64  `json:"id"`
	Verb   string `json:"verb"` // lock, tryLock, unlock, …
	Client string `json:"client"`
	Thread int    `json:"thread"`
	Kind   string `json:"kind,omitempty"` // mutex, spin, fenced, fair, read, write, multi, semaphore, permits, latch
	Name   string `json:"name,omitempty"` // of a multi-lock see several
	Wait   int64  `json:"wait"`           // milliseconds; negative: no end for lock, none at all for tryLock
	Lease  int64  `json:"lease"`          // milliseconds; negative: renewed

	Count int `json:"count,omitempty"` // of a semaphore or a latch: how many permits, or the count

	// For open: the server, and the settings that tests vary, in milliseconds. Redisson has
	// no clock for its tokens.
	Address    string `json:"address,omitempty"`
	Watchdog   int64  `json:"watchdog,omitempty"`
	FairWait   int64  `json:"fairWait,omitempty"`
	TokenClock bool   `json:"tokenClock,omitempty"`

	// For contend: for how long to go on, and how long a section takes, in microseconds.
	Span int64 `json:"span,omitempty"`
	Each int64 `json:"each,omitempty"`
}

// answer is what became of a command.
type answer struct {
	ID    int64  `json:"id"`
	OK    bool   `json:"ok"`
	Value int64  `json:"value"` // a count, a TTL, or a fenced lock's token
	Owner string `json:"owner"`
	Error string `json:"error"` // "LOST" where the lock was not held
	Why   string `json:"why"`   // what else is known of it
	From  int64  `json:"from"`  // microseconds of wall time: called
	At    int64  `json:"at"`    // and returned

	Longest int64 `json:"longest"` // the longest wait of contend, in microseconds
}

const lost = "LOST"

func (a answer) from() time.Time { return time.UnixMicro(a.From) }
func (a answer) at() time.Time   { return time.UnixMicro(a.At) }

// The verbs, for a thread of a client that the caller fills in.

func lock(kind, name string) command {
	return command{Verb: "lock", Kind: kind, Name: name, Wait: -1, Lease: -1}
}

func tryLock(kind, name string) command {
	return command{Verb: "tryLock", Kind: kind, Name: name, Wait: -1, Lease: -1}
}

func verb(word, kind, name string) command {
	return command{Verb: word, Kind: kind, Name: name, Wait: -1, Lease: -1}
}

func unlock(kind, name string) command { return verb("unlock", kind, name) }

// of is a verb for so many permits, or for a count.
func (c command) of(n int) command {
	c.Count = n
	return c
}

// several is the name of a multi-lock with these members.
func several(names ...string) string { return strings.Join(names, "+") }

// members are the names of a lock's members: its own if it is a single one.
func members(name string) []string { return strings.Split(name, "+") }

func (c command) leased(d time.Duration) command {
	c.Lease = d.Milliseconds()
	return c
}

func (c command) waiting(d time.Duration) command {
	c.Wait = d.Milliseconds()
	return c
}

package histories

import (
	"fmt"
	"time"
)

// Verb is what a client asked.
type Verb uint8

const (
	Acquire Verb = iota
	Release      // of one count
	End          // not a call: from now on, all that an owner holds may end at any moment
	Look         // who holds the lock?
	Resize       // changes by N how many permits a semaphore has. The first one makes it
	Drain        // takes the N permits that are available
)

// Operation is one call, and what it was told. Times count from the start of a history.
type Operation struct {
	Lock         string
	Client       int
	Call, Return time.Duration

	Verb    Verb
	Owner   int   // 0 is nobody
	Read    bool  // the read side of a read-write lock
	Refused bool  // an acquisition: another holds the lock
	Unknown bool  // an acquisition or a release that may happen at any moment from Call on, or never
	Token   int64 // 0 without
	N       int   // permits, of a semaphore
	Seen    Seen  // by Look
}

// Seen is what a look was told.
type Seen struct {
	Read, Write bool // the mode
	Holders     int
	Available   int // permits, of a semaphore
}

func (o Operation) String() string {
	side := "write"
	if o.Read {
		side = "read"
	}
	switch {
	case o.N != 0 || o.Verb == Drain:
		return o.ofPermits()
	case o.Verb == End:
		return fmt.Sprintf("what owner %d holds may end", o.Owner)
	case o.Verb == Look:
		return fmt.Sprintf("look: %+v", o.Seen)
	case o.Verb == Release && o.Unknown:
		return fmt.Sprintf("owner %d releases %s?", o.Owner, side)
	case o.Verb == Release:
		return fmt.Sprintf("owner %d releases %s", o.Owner, side)
	case o.Refused:
		return fmt.Sprintf("owner %d is refused %s", o.Owner, side)
	case o.Unknown:
		return fmt.Sprintf("owner %d acquires %s?", o.Owner, side)
	}
	return fmt.Sprintf("owner %d acquires %s, token %d", o.Owner, side, o.Token)
}

func (o Operation) ofPermits() string {
	text := map[Verb]string{
		Acquire: "owner %d acquires %d permits", Release: "owner %d releases %d permits",
		Resize: "owner %d changes the permits by %d", Drain: "owner %d drains %d permits",
	}[o.Verb]
	switch {
	case o.Unknown:
		text += "?"
	case o.Refused:
		text += ", and is refused"
	}
	return fmt.Sprintf(text, o.Owner, o.N)
}

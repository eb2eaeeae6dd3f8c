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
	what := "write"
	switch {
	case o.N != 0 || o.Verb == Drain:
		what = fmt.Sprintf("%d permits", o.N)
	case o.Verb == Look:
		what = fmt.Sprintf("%+v", o.Seen)
	case o.Read:
		what = "read"
	}
	verb := [...]string{"acquires", "releases", "may lose", "sees", "changes the permits by", "drains"}[o.Verb]
	text := fmt.Sprintf("owner %d %s %s", o.Owner, verb, what)
	switch {
	case o.Unknown:
		text += "?"
	case o.Refused:
		text += ", and is refused"
	case o.Token != 0:
		text += fmt.Sprintf(", token %d", o.Token)
	}
	return text
}

package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	sessionWaitsScript  = load("session_waits")
	sessionsKnownScript = load("sessions_known", "shape", "heartbeats")
)

// MaxWaits is how many waits a client tells, the longest first.
const MaxWaits = 256

// Wait is one owner that waits for a lock.
type Wait struct {
	Owner string
	Lock  string   // its key
	Mode  string   // one of the modes of package protocol
	Under []string // the owners of the holds below which it waits, all of one client

	// The wait went on from Since to Confirmed, at least, by the server's clock. Confirmed is zero if it
	// is unknown: an older client reported the wait.
	Since, Confirmed time.Time
}

// SessionWaits tells what a client waits for, instead of what it told before. The waits outlive the
// call by ttl. ReadCount reads the reply.
func SessionWaits(client string, ttl time.Duration, waits ...Wait) Call {
	words := []string{protocol.WaitsKey(client), millis(ttl)}
	for _, w := range waits {
		words = append(words, protocol.SessionField(w.Owner, w.Lock), w.entry())
	}
	return sessionWaitsScript.call(1, words...)
}

// ReadWaits reads a part of what a client waits for. The reply is read by ReadWaitsOf.
func ReadWaits(client string) Call {
	return sessionReadScript.call(1, protocol.WaitsKey(client), "0", strconv.Itoa(sessionPage),
		strconv.Itoa(longestField), strconv.Itoa(longestEntry))
}

// ReadWaitsOf reads the reply of ReadWaits. It trusts nothing in it, because anybody may have written
// it: it returns the waits of the client's own owners, MaxWaits at most, and how many others it left
// out.
func ReadWaitsOf(client string, r driver.Reply) (waits []Wait, leftOut int, err error) {
	all, err := list(sessionReadScript, r, 3, 2)
	if err != nil {
		return nil, 0, err
	}
	leftOut = int(all[1].Int)
	if all[0].Str != "0" {
		leftOut++ // the rest of it
	}
	for pair := range slices.Chunk(all[3:], 2) {
		owner, lock, named := protocol.ParseSessionField(pair[0].Str)
		e, written := protocol.ParseWaitEntry(client, pair[1].Str)
		if !named || !written || !protocol.OwnedBy(client, owner) || protocol.CheckName(lock) != nil || len(waits) == MaxWaits {
			leftOut++
			continue
		}
		w := Wait{Owner: owner, Lock: lock, Mode: e.Mode, Under: e.Under, Since: moment(e.Since)}
		if e.Confirmed != 0 {
			w.Confirmed = moment(e.Confirmed)
		}
		waits = append(waits, w)
	}
	return waits, leftOut, nil
}

// entry is how Redis is told of the wait.
func (w Wait) entry() string {
	e := protocol.WaitEntry{Mode: w.Mode, Under: w.Under, Since: w.Since.UnixMilli()}
	if !w.Confirmed.IsZero() {
		e.Confirmed = w.Confirmed.UnixMilli()
	}
	return e.String()
}

// SessionsKnown asks which clients are protected. The reply names at most limit of them.
func SessionsKnown(limit int) Call {
	return sessionsKnownScript.call(1, protocol.Sessions, strconv.Itoa(limit), strconv.Itoa(protocol.MaxClientLen))
}

// Known is which clients are protected.
type Known struct {
	Now     time.Time // by the server's clock
	All     int       // how many there are
	Clients []string  // some of them, those that were heard of last first
}

// ReadKnown reads the reply of SessionsKnown.
func ReadKnown(r driver.Reply) (Known, error) {
	all, err := list(sessionsKnownScript, r, 3, 1)
	return Known{Now: moment(all[0].Int), All: int(all[1].Int), Clients: texts(all[3:])}, err
}

package protocol

import (
	"fmt"
	"strconv"
	"strings"
)

// This file has what the watchdog knows of the clients that it protects. Redisson knows none of
// it. In a cluster the first two keys share a slot, and each of the others has its own.

// Sessions is the sorted set of protected clients, with the moment at which the next
// heartbeat of each is due, in absolute milliseconds of the server's clock.
const Sessions = "redlatch:sessions"

// Watchdogs is the sorted set of watchdogs, with the moment until which each counts as alive.
const Watchdogs = "redlatch:watchdogs:{" + Sessions + "}"

// SessionKey is the hash of what a client holds: SessionField to SessionEntry.
func SessionKey(client string) string { return "redlatch:session:{" + client + "}" }

// PulseChannel is the channel that one connection of a client subscribes to for as long as its
// process lives, running or paused. Nothing is published on it. Each connection has a pulse name
// of its own, which the session has at SessionPulse. So a connection that the client has closed,
// and that the server still takes for open, does not count.
func PulseChannel(client, pulse string) string { return "redlatch:pulse:{" + client + "}:" + pulse }

// SessionPulse is the field of a session that names the client's pulse. It differs from every
// SessionField, because those have a space.
const SessionPulse = "pulse"

// MaxClientLen is the longest accepted name of a client, a pulse or a watchdog, in bytes. The
// names that this library makes are no longer than a UUID.
const MaxClientLen = 64

// SessionField names one grant in a session: the owner's field in the lock's hash, and the lock.
// An owner has no space in it. A lock may have one.
func SessionField(field, lock string) string { return field + " " + lock }

// OwnField says whether a field of a lock is one that a client of this name writes. A session
// may contain no other.
func OwnField(client, field string) bool {
	owner, _ := ParseField(field)
	name, _, ok := ParseOwner(owner)
	return ok && name == client
}

// ParseSessionField is the reverse of SessionField.
func ParseSessionField(text string) (field, lock string, ok bool) {
	field, lock, ok = strings.Cut(text, " ")
	return field, lock, ok && field != "" && lock != ""
}

// SessionEntry is how a grant is renewed.
type SessionEntry struct {
	Read        bool  // on the read side of a read-write lock, which has a key for each hold
	Count       int   // the highest number of holds that Redis may have been told
	LeaseMillis int64 // the lease that a renewal sets
	UntilMillis int64 // by the server's clock: nobody renews beyond it; 0 for no limit
}

// The sides, as a session writes them.
const (
	exclusiveSide = "exclusive"
	readSide      = "read"
)

// String writes the entry as a session has it: "side count lease until".
func (e SessionEntry) String() string {
	side := exclusiveSide
	if e.Read {
		side = readSide
	}
	return strings.Join([]string{side, strconv.Itoa(e.Count), strconv.FormatInt(e.LeaseMillis, 10), strconv.FormatInt(e.UntilMillis, 10)}, " ")
}

// MaxSessionCount bounds the holds of one entry, because a renewal touches one key for each. If
// an owner has more holds of a lock, this many are renewed, which is enough to keep the lock.
const MaxSessionCount = 256

// ParseSessionEntry is the reverse of String. It reports false for a text that String never
// writes.
func ParseSessionEntry(text string) (SessionEntry, bool) {
	e := SessionEntry{Read: strings.HasPrefix(text, readSide)}
	var side string
	_, err := fmt.Sscanf(text, "%s %d %d %d", &side, &e.Count, &e.LeaseMillis, &e.UntilMillis)
	if err != nil || e.String() != text || e.Count < 1 || e.Count > MaxSessionCount || e.LeaseMillis < 1 || e.UntilMillis < 0 {
		return SessionEntry{}, false
	}
	return e, true
}

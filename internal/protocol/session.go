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
	return OwnedBy(client, owner)
}

// ParseSessionField is the reverse of SessionField.
func ParseSessionField(text string) (field, lock string, ok bool) {
	field, lock, ok = strings.Cut(text, " ")
	return field, lock, ok && field != "" && lock != ""
}

// SessionEntry writes how a grant is renewed: "side count lease until". The read side of a
// read-write lock has a key for each hold. Count is the highest number of holds that Redis may have
// been told. Lease and until are in milliseconds. Until is by the server's clock: nobody renews
// beyond it, and 0 stands for no limit.
func SessionEntry(read bool, count int, lease, until int64) string {
	side := "exclusive"
	if read {
		side = "read"
	}
	return strings.Join([]string{side, strconv.Itoa(count), strconv.FormatInt(lease, 10), strconv.FormatInt(until, 10)}, " ")
}

// MaxSessionCount bounds the holds of one entry, because a renewal touches one key for each. If
// an owner has more holds of a lock, this many are renewed, which is enough to keep the lock.
const MaxSessionCount = 256

// ParseSessionEntry is the reverse of SessionEntry. It reports false for a text that no session
// has.
func ParseSessionEntry(text string) (read bool, count int, lease, until int64, ok bool) {
	var side string
	_, err := fmt.Sscanf(text, "%s %d %d %d", &side, &count, &lease, &until)
	read = side == "read"
	ok = err == nil && SessionEntry(read, count, lease, until) == text && count >= 1 && count <= MaxSessionCount && lease >= 1 && until >= 0
	return read, count, lease, until, ok
}

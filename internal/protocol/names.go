package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameLen is the longest accepted lock name, in bytes. Redis accepts far more, but a longer
// name is probably a payload in the wrong place.
const MaxNameLen = 1024

// CheckName reports why name cannot name a lock, or nil.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case len(name) > MaxNameLen:
		return fmt.Errorf("the name %.32q… has %d bytes, more than %d", name, len(name), MaxNameLen)
	case !utf8.ValidString(name):
		// A Java string cannot hold it, so no Java peer could share the lock.
		return fmt.Errorf("the name %q is not valid UTF-8", name)
	}
	for i, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("the name %q has the control character %U at byte %d", name, r, i)
		}
	}
	return nil
}

// CheckPrefix reports why text cannot stand in front of the names of locks, or nil. A whole hash tag
// would put all locks into one slot, and hide the tags of their names. A part of one would put the
// keys of a lock into several slots.
func CheckPrefix(text string) error {
	switch {
	case text == "":
		return nil
	case strings.ContainsAny(text, "{}"):
		return fmt.Errorf("%q has a brace, which decides on which server of a Cluster a lock is; a name may have a hash tag", text)
	}
	return CheckName(text)
}

// Prefixed derives a key or channel from a lock's name by a prefix. A name without an opening
// brace is put in braces, so that in a cluster the derived key lies in the slot of the name. A
// name with an opening brace is taken as it is, because it should have its own hash tag. As in
// Redisson, only the opening brace counts: the key of a name with a closing brace alone lies in
// another slot.
func Prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// Unbraced is a name without the braces around the whole of it. A lock {x} has the same keys as x besides
// the lock itself.
func Unbraced(name string) string {
	inner, braced := strings.CutPrefix(name, "{")
	if inner, closed := strings.CutSuffix(inner, "}"); braced && closed && inner != "" && !strings.Contains(inner, "{") {
		return inner
	}
	return name
}

// Suffixed derives a key from a lock's name by a suffix, by the same rule.
func Suffixed(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// What the channels of locks begin with.
const (
	lockChannel = "redisson_lock__channel"
	rwChannel   = "redisson_rwlock"
)

// LockChannel is the channel on which the release of a mutex is announced.
func LockChannel(name string) string { return Prefixed(lockChannel, name) }

// TokenKey is the counter of fencing tokens, a decimal string without TTL.
func TokenKey(name string) string { return Prefixed("redisson_lock_token", name) }

// FairQueue is the list of owners that wait for a fair lock, the next one first.
func FairQueue(name string) string { return Prefixed("redisson_lock_queue", name) }

// FairDeadlines is the sorted set of the same owners, with the moment from which each counts as
// dead, in absolute milliseconds.
func FairDeadlines(name string) string { return Prefixed("redisson_lock_timeout", name) }

// FairKeepAlives is the sorted set of redlatch clients that have waiters among these owners, with
// the moment at which each was last heard of. Redisson does not know it.
func FairKeepAlives(name string) string { return Prefixed("redlatch:fair", name) }

// RWChannel is the channel on which releases of a read-write lock are announced.
func RWChannel(name string) string { return Prefixed(rwChannel, name) }

// ReadTimeoutPrefix is the common prefix of the timeout keys of all readers of a lock. In a key,
// ":" and the reader's field follow.
func ReadTimeoutPrefix(name string) string { return strings.TrimSuffix(Suffixed(name, ""), ":") }

// ReadTimeoutKey is the key that exists while the n-th hold of a reader, counted from 1, is
// alive.
func ReadTimeoutKey(name, owner string, n int) string {
	return ReadTimeoutPrefix(name) + ":" + owner + ":rwlock_timeout:" + strconv.Itoa(n)
}

// SemaphoreChannel is the channel on which permits of a semaphore, leased or not, are announced.
func SemaphoreChannel(name string) string { return Prefixed("redisson_sc", name) }

// PermitsInUse is the sorted set of the leased permits of a semaphore that are in use: their ids,
// and the moments at which they expire, in absolute milliseconds.
func PermitsInUse(name string) string { return Suffixed(name, "timeout") }

// LatchChannel is the channel on which a count-down latch is announced. Redisson adds braces to every
// name here. So in a cluster a name with braces has its channel in another slot than its key.
func LatchChannel(name string) string { return "redisson_countdownlatch__channel__{" + name + "}" }

// RequestKey is the record of the last request of one slot of a client for a counter. Redisson does
// not know it.
func RequestKey(name, client string, slot int) string {
	return Prefixed("redlatch:request", name) + ":" + client + ":" + strconv.Itoa(slot)
}

// NoteKey is the hash of what an owner says of its hold, and of what others ask of it. Redisson does not know it.
func NoteKey(name, owner string) string { return Prefixed("redlatch:note", name) + ":" + owner }

// RunsKey is the sorted set of the times for which a job was run. Redisson does not know it.
func RunsKey(name string) string { return Prefixed("redlatch:ran", name) }

package protocol

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameLen is the longest lock name accepted, in bytes. Redis would take far
// more; a name of this length is a payload that ended up in the wrong place.
const MaxNameLen = 1024

// CheckName reports why name cannot name a lock, or nil.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case len(name) > MaxNameLen:
		return fmt.Errorf("the name %.32q… has %d bytes, more than %d", name, len(name), MaxNameLen)
	case !utf8.ValidString(name):
		// Java strings cannot hold it, so no Java peer could ever share it.
		return fmt.Errorf("the name %q is not valid UTF-8", name)
	}
	for i, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("the name %q has the control character %U at byte %d", name, r, i)
		}
	}
	return nil
}

// Prefixed derives a key or channel from a lock's name by a prefix. A name
// without an opening brace is put in braces, so that in a cluster the derived
// key lies in the slot of the name; a name that has one is taken as it is,
// because it is supposed to bring its own hash tag. Only the opening brace
// counts, as in Redisson: a name with a closing brace alone ends up in another slot.
func Prefixed(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// Suffixed derives a key from a lock's name by a suffix, by the same rule.
func Suffixed(name, suffix string) string {
	if strings.Contains(name, "{") {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// LockChannel is the channel on which the release of a mutex is announced.
func LockChannel(name string) string { return Prefixed("redisson_lock__channel", name) }

// TokenKey is the counter of fencing tokens, a decimal string without TTL.
func TokenKey(name string) string { return Prefixed("redisson_lock_token", name) }

// FairQueue is the list of the owners that wait for a fair lock, the next one first.
func FairQueue(name string) string { return Prefixed("redisson_lock_queue", name) }

// FairDeadlines is the sorted set of the same owners, with the moment at which each
// counts as dead, in absolute milliseconds.
func FairDeadlines(name string) string { return Prefixed("redisson_lock_timeout", name) }

// FairKeepAlives is our own sorted set of the clients of this library that have waiters among
// them, with the moment at which each was last heard of.
func FairKeepAlives(name string) string { return Prefixed("redlatch:fair", name) }

// RWChannel is the channel on which releases of a read-write lock are announced.
func RWChannel(name string) string { return Prefixed("redisson_rwlock", name) }

// ReadTimeoutPrefix is what the timeout keys of all readers of a lock begin with.
// Scripts derive those of other readers from it, by ":" and the reader's field.
func ReadTimeoutPrefix(name string) string { return strings.TrimSuffix(Suffixed(name, ""), ":") }

// ReadTimeoutKey is the key that says that the n-th hold of a reader, counted from 1,
// is alive.
func ReadTimeoutKey(name, owner string, n int) string {
	return ReadTimeoutPrefix(name) + ":" + owner + ":rwlock_timeout:" + strconv.Itoa(n)
}

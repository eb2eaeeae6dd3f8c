package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	rwAcquireScript = load("rw_acquire", "undeclared", "shape", "rw", "token")
	rwReleaseScript = load("rw_release", "undeclared", "shape", "rw", "announce")
	rwForceScript   = load("rw_force", "undeclared", "shape", "rw", "force", "announce")
	rwStatusScript  = load("rw_status", "undeclared", "shape", "rw", "last")
)

// Counts are an owner's holds of the two sides of a read-write lock. The holds of any other
// lock count as writes.
type Counts struct{ Writes, Reads int }

// holds are the timeout keys of an owner's read holds.
func holds(lock, owner string, reads int) []string {
	var keys []string
	for hold := range reads {
		keys = append(keys, protocol.ReadTimeoutKey(lock, owner, hold+1))
	}
	return keys
}

// callRW builds a call that sets an owner's counts. The owner never had more than most read
// holds.
func callRW(s *source, lock, owner string, most int, counts Counts, lease time.Duration, more ...string) Call {
	words := append([]string{lock}, holds(lock, owner, max(most, counts.Reads))...)
	keys := len(words)
	words = append(words, owner, protocol.WriterField(owner),
		strconv.Itoa(counts.Writes), strconv.Itoa(counts.Reads), millis(lease), protocol.ReadTimeoutPrefix(lock))
	return s.call(keys, append(words, more...)...)
}

// AcquireRW takes a side of lock for owner, so that the owner's counts are these
// afterwards. ReadAcquired reads the reply.
func AcquireRW(lock, owner string, counts Counts, lease time.Duration) Call {
	return callRW(rwAcquireScript, lock, owner, 0, counts, lease)
}

// ReleaseRW lowers the owner's counts. The owner never had more than most read holds.
// ReadReleased reads the reply.
func ReleaseRW(lock, channel, owner string, most int, counts Counts, lease time.Duration, via protocol.Messages) Call {
	return callRW(rwReleaseScript, lock, owner, most, counts, lease, channel, via.Unlocked(), via.ReadUnlocked())
}

// RenewalRW is the renewal of an owner's holds of a read-write lock. The owner holds the lock as
// long as one of its fields is there: a release of one side may be under way.
func RenewalRW(lock, owner string, counts Counts, over bool, lease time.Duration) Renewal {
	return Renewal{
		Lock: lock, Field: owner, Write: protocol.WriterField(owner), Over: over,
		Holds: holds(lock, owner, counts.Reads), Lease: lease,
	}
}

// ForceRW frees lock, whoever holds it. If owner is not empty, it takes the lock only from that
// owner. ReadForced reads the reply.
func ForceRW(lock, channel, owner string, via protocol.Messages) Call {
	words := []string{lock, protocol.ReadTimeoutPrefix(lock), channel, via.Unlocked(), via.ReadUnlocked()}
	if owner != "" {
		words = append(words, owner)
	}
	return rwForceScript.call(1, words...)
}

// StatusRW reads lock and the counter of its fencing tokens.
func StatusRW(lock, tokens string) Call {
	return rwStatusScript.call(2, lock, tokens, protocol.ReadTimeoutPrefix(lock))
}

// RWState is a read-write lock at one moment.
type RWState struct {
	TTL     time.Duration // negative without expiry
	Token   int64
	Mode    string // "read", "write", or "" when free
	Holders []RWHolder
}

// RWHolder is one field of the lock.
type RWHolder struct {
	Field string
	Count string
	TTL   time.Duration
}

// ReadStatusRW reads the reply of StatusRW.
func ReadStatusRW(r driver.Reply) (RWState, error) {
	all, err := list(rwStatusScript, r, 3, 3)
	if err != nil {
		return RWState{}, err
	}
	state := RWState{TTL: duration(all[0].Int), Mode: all[2].Str}
	if state.Token, err = strconv.ParseInt(all[1].Str, 10, 64); err != nil {
		return RWState{}, unexpected(rwStatusScript, r)
	}
	for one := range slices.Chunk(all[3:], 3) {
		state.Holders = append(state.Holders, RWHolder{Field: one[0].Str, Count: one[1].Str, TTL: duration(one[2].Int)})
	}
	return state, nil
}

package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	rwAcquireScript = load("rw_acquire", "undeclared", "shape", "note", "rw", "look", "token")
	rwReleaseScript = load("rw_release", "undeclared", "shape", "rw", "look", "announce")
	rwForceScript   = load("rw_force", "undeclared", "shape", "rw", "look", "force", "announce")
	rwStatusScript  = load("rw_status", "undeclared", "shape", "note", "rw", "look", "last")
)

// holds are the timeout keys of an owner's read holds.
func holds(lock, owner string, reads int) []string {
	var keys []string
	for hold := range reads {
		keys = append(keys, protocol.ReadTimeoutKey(lock, owner, hold+1))
	}
	return keys
}

// RW builds the calls for one read-write lock.
type RW struct{ Mutex }

// NewRW returns the read-write lock of a name.
func NewRW(name string, via protocol.Messages) RW {
	return RW{Mutex{name, protocol.RWChannel(name), via}}
}

// call builds a call that sets an owner's counts. The owner never had more than most read holds.
func (l RW) call(s *source, owner string, most int, counts Counts, lease time.Duration, more ...string) Call {
	words := append([]string{l.Lock}, holds(l.Lock, owner, max(most, counts.Reads))...)
	keys := len(words)
	words = append(words, owner, protocol.WriterField(owner),
		strconv.Itoa(counts.Writes), strconv.Itoa(counts.Reads), millis(lease), protocol.ReadTimeoutPrefix(l.Lock))
	return s.call(keys, append(words, more...)...)
}

// Acquire takes a side of the lock for owner, so that the owner's counts are these afterwards.
func (l RW) Acquire(owner string, counts Counts, lease time.Duration, _ bool) Call {
	return l.call(rwAcquireScript, owner, 0, counts, lease)
}

// Release lowers the owner's counts. The owner never had more than most read holds.
func (l RW) Release(owner string, most int, counts Counts, lease time.Duration) Call {
	return l.call(rwReleaseScript, owner, most, counts, lease, l.Channel, l.Via.Unlocked(), l.Via.ReadUnlocked())
}

// Renewal is that of an owner's holds. The owner holds the lock as long as one of its fields is
// there: a release of one side may be under way.
func (l RW) Renewal(owner string, counts Counts, over bool, lease time.Duration) Renewal {
	return Renewal{
		Lock: l.Lock, Field: owner, Write: protocol.WriterField(owner), Over: over,
		Holds: holds(l.Lock, owner, counts.Reads), Lease: lease,
	}
}

// Move gives the one hold of an owner to another owner.
func (l RW) Move(from, to string, read bool, lease time.Duration) Call {
	if !read {
		return l.Mutex.Move(protocol.WriterField(from), protocol.WriterField(to), false, lease)
	}
	return moveScript.call(3, l.Lock, protocol.ReadTimeoutKey(l.Lock, from, 1), protocol.ReadTimeoutKey(l.Lock, to, 1), from, to, millis(lease))
}

// Field is the owner's, on one side.
func (l RW) Field(owner string, read bool) string {
	if read {
		return owner
	}
	return protocol.WriterField(owner)
}

// Force frees the lock, whoever holds it, or takes it only from that owner.
func (l RW) Force(owner string) Call {
	return rwForceScript.call(1, from(owner, l.Lock, protocol.ReadTimeoutPrefix(l.Lock), l.Channel, l.Via.Unlocked(), l.Via.ReadUnlocked())...)
}

// Status reads the lock and the counter of its fencing tokens. With an owner it names no other.
func (l RW) Status(owner string) []Call {
	return []Call{rwStatusScript.call(2, from(owner, l.Lock, protocol.TokenKey(l.Lock), protocol.ReadTimeoutPrefix(l.Lock))...)}
}

// ReadStatus reads the reply of Status.
func (l RW) ReadStatus(r driver.Reply) (State, error) {
	state, fields, err := readState(rwStatusScript, r, 4, 4)
	if err == nil {
		state.Mode, state.Owners = r.Array[2].Str, int(r.Array[3].Int)
	}
	for one := range slices.Chunk(fields, 4) {
		state.Holders = append(state.Holders, Field{Name: one[0].Str, Count: one[1].Str, TTL: duration(one[2].Int), Noted: readNoted(one[3])})
	}
	return state, err
}

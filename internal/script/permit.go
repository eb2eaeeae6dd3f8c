package script

import (
	"encoding/hex"
	"github.com/redlatch/redlatch/internal/protocol"
	"time"
)

var (
	permitAcquireScript = load("permit_acquire", "shape", "announce", "counter", "permit")
	permitReleaseScript = load("permit_release", "shape", "announce", "counter", "permit")
	permitRenewScript   = load("permit_renew", "shape", "note", "permit")
	permitMoveScript    = load("permit_move", "shape", "note", "permit")
)

// NoPermits is the TTL in the reply of Permits.Acquire if there is no semaphore.
const NoPermits = -2 * time.Millisecond

// Permits builds the calls for one semaphore with leased permits. The owner of a permit is its id in
// hexadecimal digits.
type Permits struct {
	Semaphore // its counter, and the permits in use
}

// NewPermits returns the semaphore of a name.
func NewPermits(name string, via protocol.Messages) Permits {
	s := NewSemaphore(name, via)
	s.InUse = protocol.PermitsInUse(name)
	return Permits{s}
}

// id is the id of a permit as it stands in Redis. What is no id stays as it is, and has no permit.
func id(owner string) string {
	if raw, err := hex.DecodeString(owner); err == nil {
		return string(raw)
	}
	return owner
}

// Acquire takes one permit.
func (p Permits) Acquire(owner string, _ Counts, lease time.Duration, _ bool) Call {
	return permitAcquireScript.call(2, p.Key, p.InUse, id(owner), millis(lease), p.Channel, p.Via.Unlocked())
}

// Release puts the permit back.
func (p Permits) Release(owner string, _ int, _ Counts, _ time.Duration) Call {
	return permitReleaseScript.call(2, p.Key, p.InUse, id(owner), p.Channel, p.Via.Unlocked())
}

// Renewal is that of a permit. Renew takes it together with renewals of permits alone.
func (p Permits) Renewal(owner string, _ Counts, _ bool, lease time.Duration) Renewal {
	return Renewal{Lock: p.Key, InUse: p.InUse, Field: id(owner), Lease: lease}
}

// Move gives a permit to another id.
func (p Permits) Move(from, to string, _ bool, lease time.Duration) Call {
	return permitMoveScript.call(2, p.Key, p.InUse, id(from), id(to), millis(lease))
}

// Recall asks for a permit. Nobody is told by a message: waiters of Java would take it for a permit.
func (p Permits) Recall(owner, text string) Call {
	return recallScript.call(2, p.InUse, protocol.NoteKey(p.Key, id(owner)), id(owner), "ZSCORE", text, p.Channel, "")
}

// Forget removes the note of a permit's owner.
func (p Permits) Forget(owner string) Call { return forget(p.Key, id(owner)) }

// Field is the permit's member of the sorted set.
func (p Permits) Field(owner string, _ bool) string { return id(owner) }

// renewPermits extends permits, each only for its id.
func renewPermits(batch []Renewal) Call {
	words := make([]string, 0, 6*len(batch))
	for _, one := range batch {
		words = append(words, one.Lock, one.InUse)
	}
	for _, one := range batch {
		words = append(words, one.Field, millis(one.Lease), one.Note, flag(one.Knows))
	}
	return permitRenewScript.call(2*len(batch), words...)
}

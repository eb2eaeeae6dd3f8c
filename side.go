package redlatch

import (
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// point is a lock as a client asks for it: its name, what derives from it, and the
// side of it that is asked for.
type point struct {
	name    string
	channel string // on which its release is announced; no two kinds of lock share one
	held    heldKey
	side    side
	err     error // why the name is no good
}

// side is one way to hold a lock, as Redis knows it. All of them answer alike
// (script.ReadAcquired, ReadReleased, ReadRenewed).
type side interface {
	// acquire makes owner's count be count. Wait says that the owner will wait if it
	// does not get the lock.
	acquire(owner string, count int, lease time.Duration, wait bool) script.Call
	// release lowers owner's count, of at most held, to remaining.
	release(owner string, held, remaining int, lease time.Duration) script.Call
	// renewal extends the lease of an owner with at most held holds.
	renewal(owner string, held int, lease time.Duration) script.Renewal
	// shared says that several owners can hold this side at a time.
	shared() bool
	// handsOver says that a release may take the bid of a local waiter along.
	handsOver() bool
	// queues says that waiters stand in a queue in Redis, which they have to leave.
	queues() bool
	// line is the channel on which a waiter is told that it may have the lock.
	line(owner string) string
}

// exclusive is the one side of a mutex.
type exclusive struct {
	name, channel string
	messages      protocol.Messages
}

func (s exclusive) acquire(owner string, count int, lease time.Duration, _ bool) script.Call {
	return script.Acquire(s.name, owner, lease, count)
}

func (s exclusive) release(owner string, _, remaining int, lease time.Duration) script.Call {
	return script.Release(s.name, s.channel, owner, remaining, lease, s.messages)
}

func (s exclusive) renewal(owner string, _ int, lease time.Duration) script.Renewal {
	return script.Renewal{Lock: s.name, Field: owner, Lease: lease}
}

func (exclusive) shared() bool         { return false }
func (exclusive) handsOver() bool      { return true }
func (exclusive) queues() bool         { return false }
func (s exclusive) line(string) string { return s.channel }

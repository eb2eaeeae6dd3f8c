package redlatch

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// point is a lock as a client asks for it: its name, what derives from it, its kind, and
// whether it is asked for to read.
type point struct {
	name    string
	channel string // on which its release is announced; x and {x} share one
	queue   string // the key of its line of local waiters (waitqueue.Key)
	held    heldKey
	kind    kind
	read    bool
	fair    bool  // waiters stand in a queue in Redis, which they have to leave
	err     error // why the name is no good
}

// place names a lock among those of one client. A mutex and a fair mutex of one name are one
// lock.
type place struct {
	name string
	rw   bool
}

// point is a lock with a channel of its releases, as a mutex.
func (c *Client) point(name, channel string, rw bool) point {
	p := point{
		name:    name,
		channel: channel,
		queue:   waitqueue.Key(channel, name),
		held:    heldKey{c, place{name, rw}},
		kind:    exclusive{name, channel, c.messages},
	}
	if err := c.checkName(name); err != nil {
		p.err = fmt.Errorf("redlatch: %w: %w", ErrInvalidName, err)
	}
	return p
}

// kind is one kind of lock, as Redis knows it. All of them answer alike
// (script.ReadAcquired, ReadReleased, ReadRenewed).
type kind interface {
	// acquire makes owner's counts be these. Wait says that the owner will wait if it
	// does not get the lock.
	acquire(owner string, counts script.Counts, lease time.Duration, wait bool) script.Call
	// release lowers owner's counts to these. It never had more than so many read holds.
	release(owner string, most int, counts script.Counts, lease time.Duration) script.Call
	// renewal extends the lease of an owner with these counts. Over says that its write side
	// has ended and Redis may not know.
	renewal(owner string, counts script.Counts, over bool, lease time.Duration) script.Renewal
	// field is the owner's in the lock's hash, on one side.
	field(owner string, read bool) string
}

// exclusive is a mutex.
type exclusive struct {
	name, channel string
	messages      protocol.Messages
}

func (k exclusive) acquire(owner string, counts script.Counts, lease time.Duration, _ bool) script.Call {
	return script.Acquire(k.name, owner, lease, counts.Writes)
}

func (k exclusive) release(owner string, _ int, counts script.Counts, lease time.Duration) script.Call {
	return script.Release(k.name, k.channel, owner, counts.Writes, lease, k.messages)
}

func (k exclusive) renewal(owner string, _ script.Counts, _ bool, lease time.Duration) script.Renewal {
	return script.Renewal{Lock: k.name, Field: owner, Lease: lease}
}

func (exclusive) field(owner string, _ bool) string { return owner }

// readWrite is a read-write lock.
type readWrite struct{ exclusive }

func (k readWrite) acquire(owner string, counts script.Counts, lease time.Duration, _ bool) script.Call {
	return script.AcquireRW(k.name, owner, counts, lease)
}

func (k readWrite) release(owner string, most int, counts script.Counts, lease time.Duration) script.Call {
	return script.ReleaseRW(k.name, k.channel, owner, most, counts, lease, k.messages)
}

func (k readWrite) renewal(owner string, counts script.Counts, over bool, lease time.Duration) script.Renewal {
	return script.RenewalRW(k.name, owner, counts, over, lease)
}

func (readWrite) field(owner string, read bool) string {
	if read {
		return owner
	}
	return protocol.WriterField(owner)
}

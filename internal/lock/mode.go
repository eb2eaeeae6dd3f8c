package lock

import (
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// mode is a kind of lock as Redis knows it. All modes answer alike
// (script.ReadAcquired, ReadReleased, ReadRenewed).
type mode interface {
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
	// force frees the lock, whoever holds it; with an owner, if that owner does.
	force(owner string) script.Call
	// status reads the lock, and readStatus the replies.
	status() []script.Call
	readStatus(results []script.Result) (Status, error)
}

// exclusive is a mutex.
type exclusive struct {
	name, channel string
	messages      protocol.Messages
}

func (x exclusive) acquire(owner string, counts script.Counts, lease time.Duration, _ bool) script.Call {
	return script.Acquire(x.name, owner, lease, counts.Writes)
}

func (x exclusive) release(owner string, _ int, counts script.Counts, lease time.Duration) script.Call {
	return script.Release(x.name, x.channel, owner, counts.Writes, lease, x.messages)
}

func (x exclusive) renewal(owner string, _ script.Counts, _ bool, lease time.Duration) script.Renewal {
	return script.Renewal{Lock: x.name, Field: owner, Lease: lease}
}

func (exclusive) field(owner string, _ bool) string { return owner }

// readWrite is a read-write lock.
type readWrite struct{ exclusive }

func (x readWrite) acquire(owner string, counts script.Counts, lease time.Duration, _ bool) script.Call {
	return script.AcquireRW(x.name, owner, counts, lease)
}

func (x readWrite) release(owner string, most int, counts script.Counts, lease time.Duration) script.Call {
	return script.ReleaseRW(x.name, x.channel, owner, most, counts, lease, x.messages)
}

func (x readWrite) renewal(owner string, counts script.Counts, over bool, lease time.Duration) script.Renewal {
	return script.RenewalRW(x.name, owner, counts, over, lease)
}

func (readWrite) field(owner string, read bool) string {
	if read {
		return owner
	}
	return protocol.WriterField(owner)
}

// fair is a fair mutex.
type fair struct {
	script script.Fair
	exclusive
}

func (f fair) acquire(owner string, counts script.Counts, lease time.Duration, wait bool) script.Call {
	return f.script.Acquire(owner, lease, counts.Writes, wait)
}

func (f fair) release(owner string, _ int, counts script.Counts, lease time.Duration) script.Call {
	return f.script.Release(owner, counts.Writes, lease)
}

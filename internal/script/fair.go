package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	fairAcquireScript   = load("fair_acquire", "shape", "exclusive", "token", "fair_queue")
	fairReleaseScript   = load("fair_release", "shape", "exclusive", "announce", "fair_queue")
	fairKeepAliveScript = load("fair_keepalive", "shape", "exclusive", "announce", "fair_queue")
	fairForceScript     = load("fair_force", "shape", "exclusive", "force", "announce", "fair_queue")
	fairStatusScript    = load("fair_status")
)

// Fair builds the calls for one fair lock.
type Fair struct {
	lock, queue, deadlines, keepalives string
	channels                           string // what the channels of its waiters begin with
	slot                               string // in milliseconds
	unlocked                           string // the plan that announces a free lock
}

// NewFair returns the fair lock of a name. A slot is how long Java peers give a waiter in its
// turn to take the lock.
func NewFair(name string, slot time.Duration, via protocol.Messages) Fair {
	return Fair{
		lock:       name,
		queue:      protocol.FairQueue(name),
		deadlines:  protocol.FairDeadlines(name),
		keepalives: protocol.FairKeepAlives(name),
		channels:   protocol.LockChannel(name),
		slot:       millis(slot),
		unlocked:   via.Unlocked(),
	}
}

func (f Fair) call(s *source, args ...string) Call {
	words := make([]string, 0, 4+len(args))
	words = append(words, f.lock, f.queue, f.deadlines, f.keepalives)
	return s.call(4, append(words, args...)...)
}

// Acquire takes the lock for owner, so that its count is count afterwards. If the lock is not
// granted and queue is set, the owner joins the queue. ReadAcquired reads the reply.
func (f Fair) Acquire(owner string, lease time.Duration, count int, queue bool) Call {
	return f.call(fairAcquireScript, owner, millis(lease), strconv.Itoa(count), f.slot, flag(queue))
}

// Release lowers the owner's count to remaining. At zero it also takes the owner out of the
// queue and tells the next waiter. ReadReleased reads the reply.
func (f Fair) Release(owner string, remaining int, lease time.Duration) Call {
	return f.call(fairReleaseScript, owner, strconv.Itoa(remaining), millis(lease), f.slot, f.channels, f.unlocked)
}

// MaxKeptAlive is how many waiters one KeepAlive names at most.
const MaxKeptAlive = 100

// KeepAlive says that a client is alive, and asks about some of its waiters: 1 to MaxKeptAlive.
// It takes gone out of the queue: owners of the client that do not wait any more.
func (f Fair) KeepAlive(client string, waiters, gone []string) Call {
	args := make([]string, 0, 5+len(waiters)+len(gone))
	args = append(args, f.slot, f.channels, f.unlocked, client, strconv.Itoa(len(waiters)))
	args = append(args, waiters...)
	return f.call(fairKeepAliveScript, append(args, gone...)...)
}

// KeptAlive is what KeepAlive found.
type KeptAlive struct {
	Free    bool          // nobody holds the lock
	TTL     time.Duration // of the lock, negative without expiry
	First   string        // the owner whose turn is next, "" if nobody waits
	Missing []string      // the waiters that are not in the queue
	Unknown []string      // owners of the client at the front of the queue that it did not name
}

// ReadKeptAlive reads the reply of KeepAlive.
func ReadKeptAlive(r driver.Reply) (KeptAlive, error) {
	if r.Err != nil {
		return KeptAlive{}, r.Err
	}
	if len(r.Array) != 4 {
		return KeptAlive{}, unexpected(fairKeepAliveScript, r)
	}
	return KeptAlive{
		Free: r.Array[0].Int == -2, TTL: duration(r.Array[0].Int), First: r.Array[1].Str,
		Missing: texts(r.Array[2].Array), Unknown: texts(r.Array[3].Array),
	}, nil
}

// Force frees the lock, whoever holds it, and tells the next waiter. It refuses a key that may
// be somebody's data. ReadForced reads the reply.
func (f Fair) Force() Call {
	return f.call(fairForceScript, f.slot, f.channels, f.unlocked)
}

// ForceFrom frees the lock if owner holds it, and tells the next waiter. ReadForced reads the
// reply.
func (f Fair) ForceFrom(owner string) Call {
	return f.call(fairForceScript, f.slot, f.channels, f.unlocked, owner)
}

// Queue reads the first 10,000 waiters of the queue.
func (f Fair) Queue() Call { return fairStatusScript.call(2, f.queue, f.deadlines) }

// Queued is one waiter of a queue.
type Queued struct {
	Owner    string
	Deadline time.Time // by the server's clock
}

// ReadQueue reads the reply of Queue.
func ReadQueue(r driver.Reply) ([]Queued, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Array)%2 != 0 {
		return nil, unexpected(fairStatusScript, r)
	}
	var queue []Queued
	for i := 0; i < len(r.Array); i += 2 {
		deadline, ok := moment(r.Array[i+1].Str)
		if !ok {
			return nil, unexpected(fairStatusScript, r)
		}
		queue = append(queue, Queued{Owner: r.Array[i].Str, Deadline: deadline})
	}
	return queue, nil
}

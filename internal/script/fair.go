package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	fairAcquireScript   = load("fair_acquire", "shape", "note", "exclusive", "token", "fair_queue")
	fairReleaseScript   = load("fair_release", "shape", "exclusive", "announce", "fair_queue")
	fairKeepAliveScript = load("fair_keepalive", "shape", "exclusive", "announce", "fair_queue")
	fairForceScript     = load("fair_force", "shape", "exclusive", "force", "announce", "fair_queue")
	fairStatusScript    = load("fair_status")
)

// Fair builds the calls for one fair lock.
type Fair struct {
	Mutex                        // the channels of its waiters begin with its channel
	queue, deadlines, keepalives string
	slot                         string // in milliseconds
}

// NewFair returns the fair lock of a name. A slot is how long Java peers give a waiter in its
// turn to take the lock.
func NewFair(name string, slot time.Duration, via protocol.Messages) Fair {
	return Fair{
		Mutex:      NewMutex(name, via),
		queue:      protocol.FairQueue(name),
		deadlines:  protocol.FairDeadlines(name),
		keepalives: protocol.FairKeepAlives(name),
		slot:       millis(slot),
	}
}

func (f Fair) call(s *source, args ...string) Call {
	words := make([]string, 0, 4+len(args))
	words = append(words, f.Lock, f.queue, f.deadlines, f.keepalives)
	return s.call(4, append(words, args...)...)
}

// Acquire takes the lock for owner, so that its count of writes is this one afterwards. If the
// lock is not granted and wait is set, the owner joins the queue.
func (f Fair) Acquire(owner string, counts Counts, lease time.Duration, wait bool) Call {
	return f.call(fairAcquireScript, owner, millis(lease), strconv.Itoa(counts.Writes), f.slot, flag(wait))
}

// Release lowers the owner's count. At zero it also takes the owner out of the queue and tells
// the next waiter.
func (f Fair) Release(owner string, _ int, counts Counts, lease time.Duration) Call {
	return f.call(fairReleaseScript, owner, strconv.Itoa(counts.Writes), millis(lease), f.slot, f.Channel, f.Via.Unlocked())
}

// MaxKeptAlive is how many waiters one KeepAlive names at most.
const MaxKeptAlive = 100

// KeepAlive says that a client is alive, and asks about some of its waiters: 1 to MaxKeptAlive.
// It takes gone out of the queue: owners of the client that do not wait any more.
func (f Fair) KeepAlive(client string, waiters, gone []string) Call {
	args := make([]string, 0, 5+len(waiters)+len(gone))
	args = append(args, f.slot, f.Channel, f.Via.Unlocked(), client, strconv.Itoa(len(waiters)))
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
	all, err := list(fairKeepAliveScript, r, 4, nothing)
	return KeptAlive{
		Free: all[0].Int == -2, TTL: duration(all[0].Int), First: all[1].Str,
		Missing: texts(all[2].Array), Unknown: texts(all[3].Array),
	}, err
}

// Force frees the lock, whoever holds it, or only if that owner does. It tells the next waiter.
// Without an owner it refuses a key that may be somebody's data.
func (f Fair) Force(owner string) Call {
	return f.call(fairForceScript, from(owner, f.slot, f.Channel, f.Via.Unlocked())...)
}

// Status also reads the first 10,000 waiters of the queue. ReadQueue reads the second reply.
func (f Fair) Status(owner string) []Call {
	return append(f.Mutex.Status(owner), fairStatusScript.call(2, f.queue, f.deadlines))
}

// Queued is one waiter of a queue.
type Queued struct {
	Owner    string
	Deadline time.Time // by the server's clock
}

// ReadQueue reads the second reply of Status.
func ReadQueue(r driver.Reply) ([]Queued, error) {
	all, err := list(fairStatusScript, r, 0, 2)
	var queue []Queued
	for pair := range slices.Chunk(all, 2) {
		deadline, _, ok := Moment(pair[1].Str)
		if !ok {
			return nil, unexpected(fairStatusScript, r)
		}
		queue = append(queue, Queued{Owner: pair[0].Str, Deadline: deadline})
	}
	return queue, err
}

package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	semaphoreAcquireScript = load("semaphore_acquire", "counter", "record", "request")
	semaphoreCancelScript  = load("semaphore_cancel", "announce", "counter", "record")
	semaphoreAddScript     = load("semaphore_add", "announce", "counter", "record", "request")
	semaphoreDrainScript   = load("semaphore_drain", "counter", "record", "request")
	counterSetScript       = load("counter_set", "announce", "counter", "record", "request")
	counterReadScript      = load("counter_read", "shape", "counter")
)

// Request is what a script on a counter knows its request by. A slot belongs to one request at a
// time, and each later request of it has a greater number.
type Request struct {
	Record string        // the key of the slot's record
	Number int64         // from 1
	Keep   time.Duration // for how long the record is kept: no copy of a request may come later
}

func (r Request) number() string { return strconv.FormatInt(r.Number, 10) }

// MaxCount is the greatest count: it is an int in Java.
const MaxCount = 1<<31 - 1

// Semaphore builds the calls for one semaphore whose permits have no owner, and for the counter of
// one whose permits have.
type Semaphore struct {
	Key, Channel string // the counter, and the channel on which permits are announced
	InUse        string // of leased permits: those in use; "" for others
	Via          protocol.Messages
}

// NewSemaphore returns the semaphore of a name.
func NewSemaphore(name string, via protocol.Messages) Semaphore {
	return Semaphore{Key: name, Channel: protocol.SemaphoreChannel(name), Via: via}
}

// Acquire takes what each of several waiters wants, in their order, until it does not fit. ReadTaken reads the reply.
func (s Semaphore) Acquire(r Request, wants ...int) Call {
	words := append(make([]string, 0, 8), s.Key, r.Record, r.number(), millis(r.Keep)) // on the stack, for few waiters
	for _, n := range wants {
		words = append(words, strconv.Itoa(n))
	}
	return semaphoreAcquireScript.call(2, words...)
}

// Cancel undoes an Acquire that was not answered. With the request of no Acquire it puts n permits back, if there is
// such a semaphore. ReadCancelled reads the reply.
func (s Semaphore) Cancel(r Request, n int) Call {
	return semaphoreCancelScript.call(2, s.Key, r.Record, r.number(), millis(r.Keep), s.Channel, s.Via.Unlocked(), strconv.Itoa(n))
}

// Add puts n permits back, or changes by n how many there are. ReadAdded reads the reply.
func (s Semaphore) Add(n int, r Request) Call {
	return s.change(semaphoreAddScript, r, r.number(), millis(r.Keep), strconv.Itoa(n), s.Channel, s.Via.Unlocked())
}

// Drain takes all permits that are available. ReadDrained reads the reply.
func (s Semaphore) Drain(r Request) Call {
	return semaphoreDrainScript.call(2, s.Key, r.Record, r.number(), millis(r.Keep))
}

// Set makes the counter, if there is none. ReadSet reads the reply.
func (s Semaphore) Set(n int, r Request) Call {
	text := strconv.Itoa(n)
	return s.change(counterSetScript, r, r.number(), millis(r.Keep), text, s.Channel, s.Via.Unlocked(), text)
}

// change is a call that may make the counter. Permits of a former one are not in use any more.
func (s Semaphore) change(script *source, r Request, words ...string) Call {
	if s.InUse == "" {
		return script.call(2, append([]string{s.Key, r.Record}, words...)...)
	}
	return script.call(3, append([]string{s.Key, r.Record, s.InUse}, words...)...)
}

// Read reads the counter, and counts leased permits that have expired as well. ReadCounter reads the reply.
func (s Semaphore) Read() Call {
	if s.InUse == "" {
		return counterReadScript.call(1, s.Key)
	}
	return counterReadScript.call(2, s.Key, s.InUse)
}

// ReadTaken reads the reply of Acquire: how many permits were taken for all.
func ReadTaken(r driver.Reply) (int, error) { return readCount(semaphoreAcquireScript, r) }

// ReadDrained reads the reply of Drain: how many permits were taken.
func ReadDrained(r driver.Reply) (int, error) { return readCount(semaphoreDrainScript, r) }

// ReadCancelled reads the reply of Cancel: whether permits were put back.
func ReadCancelled(r driver.Reply) (bool, error) { return readFlag(semaphoreCancelScript, r) }

// ReadSet reads the reply of Set: whether there was no counter.
func ReadSet(r driver.Reply) (bool, error) { return readFlag(counterSetScript, r) }

// Added is what Add came to.
type Added struct {
	Told          int  // how many subscribers received the announcement
	PublishDenied bool // the server refused to publish it
	TooMany       bool // the counter would not fit into an int of Java; nothing changed
}

// ReadAdded reads the reply of Add.
func ReadAdded(r driver.Reply) (Added, error) {
	switch n := number(r); {
	case n >= 0:
		return Added{Told: int(n)}, nil
	case n == -2:
		return Added{PublishDenied: true}, nil
	case n == -4:
		return Added{TooMany: true}, nil
	}
	return Added{}, unexpected(semaphoreAddScript, r)
}

// ReadCounter reads the reply of Read. A counter that is not there is 0.
func ReadCounter(r driver.Reply) (int, error) {
	found, err := list(counterReadScript, r, 1, nothing)
	return int(found[0].Int), err
}

// readCount reads a reply that is a number, and not a negative one.
func readCount(s *source, r driver.Reply) (int, error) {
	n := number(r)
	if n < 0 {
		return 0, unexpected(s, r)
	}
	return int(n), nil
}

func readFlag(s *source, r driver.Reply) (bool, error) {
	n := number(r)
	if n != 0 && n != 1 {
		return false, unexpected(s, r)
	}
	return n == 1, nil
}

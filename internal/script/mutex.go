package script

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	acquireScript = load("acquire", "shape", "note", "exclusive", "token")
	releaseScript = load("release", "shape", "announce")
	minHoldScript = load("minhold", "shape", "announce")
	renewScript   = load("renew", "shape", "note")
	moveScript    = load("move", "shape", "note")
	forceScript   = load("force", "shape", "exclusive", "force", "announce")
	statusScript  = load("status", "shape", "note", "exclusive", "last")
)

// Mutex builds the calls for one mutex.
type Mutex struct {
	Lock, Channel string // its key, and the channel on which its release is announced
	Via           protocol.Messages
}

// NewMutex returns the mutex of a name.
func NewMutex(name string, via protocol.Messages) Mutex {
	return Mutex{name, protocol.LockChannel(name), via}
}

// Acquire takes the lock for owner, so that the owner's count of writes is this one afterwards.
func (m Mutex) Acquire(owner string, counts Counts, lease time.Duration, _ bool) Call {
	return acquireScript.call(1, m.Lock, owner, millis(lease), strconv.Itoa(counts.Writes))
}

// Acquired is what Acquire found.
type Acquired struct {
	// Granted says that the owner holds the lock, with the token if one was asked for.
	Granted bool
	Token   int64
	// Gone says that the requested count builds on a hold that is gone.
	Gone bool
	// TTL, Holder and Note describe the hold of another owner, if neither is set. A negative TTL
	// means no expiry.
	TTL          time.Duration
	Holder, Note string
}

// ReadAcquired reads the reply of Acquire.
func ReadAcquired(r driver.Reply) (Acquired, error) {
	switch n := number(r); {
	case n == 1:
		return Acquired{Granted: true}, nil
	case n == 0:
		return Acquired{Gone: true}, nil
	case len(r.Array) == 1 && r.Array[0].Err == nil && r.Array[0].Int > 0:
		return Acquired{Granted: true, Token: r.Array[0].Int}, nil
	case (len(r.Array) == 2 || len(r.Array) == 3) && r.Array[0].Err == nil && r.Array[0].Str == "" && r.Array[1].Err == nil:
		refused := Acquired{TTL: duration(r.Array[0].Int), Holder: r.Array[1].Str}
		if len(r.Array) == 3 {
			refused.Note = protocol.ParseNote(r.Array[2].Str)
		}
		return refused, nil
	}
	return Acquired{}, unexpected(acquireScript, r)
}

// Release lowers the owner's count. At zero it frees the lock and announces that. The lease is
// for the holds that remain.
func (m Mutex) Release(owner string, _ int, counts Counts, lease time.Duration) Call {
	return releaseScript.call(1, m.Lock, owner, strconv.Itoa(counts.Writes), millis(lease), m.Channel, m.Via.Unlocked())
}

// MinHold ends the last hold of a mutex, which stays locked for a rest of time under another name
// (protocol.RestingOwner). ReadReleased reads the reply. Waiters for a fair lock ask by themselves.
func (m Mutex) MinHold(owner string, rest time.Duration, tell bool) Call {
	channel := ""
	if tell {
		channel = m.Channel
	}
	return minHoldScript.call(1, m.Lock, owner, protocol.RestingOwner(owner), millis(rest), channel, m.Via.Unlocked())
}

// Free is Release of the last hold in two commands, if the announcement is one: the owner's field
// goes, and the key with it, and then waiters are told. Freed reads the replies.
//
// Between the two another client may take the lock. The message then wakes waiters for nothing, as
// one does that comes late. Should the second command not arrive, it is sent again. If the process
// dies at that very moment, waiters look for themselves at their poll cap.
func (m Mutex) Free(owner string) (free, announce Call, ok bool) {
	verb, payload, _ := strings.Cut(m.Via.Unlocked(), " ")
	free = Call{command: driver.Command{Words: append(buffer(3), "HDEL", m.Lock, owner), Key: m.Lock}}
	announce = Call{command: driver.Command{Words: append(buffer(3), verb, m.Channel, payload), Key: m.Lock}}
	return free, announce, verb == "PUBLISH"
}

// Freed is the result of a release in the form of the script, made from those of Free.
func Freed(free, announce Result) Result {
	switch {
	case free.Reply.Err != nil:
	case number(free.Reply) == 0:
		free.Reply.Int = -1
	case announce.Reply.Err == nil:
		free.Reply.Int = announce.Reply.Int
	case announce.Failed() == nil:
		free.Reply.Int = -2 // refused
	default:
		free.Reply.Int = 0 // not answered
	}
	return free
}

// Released is what Release found.
type Released struct {
	// Held says that the owner held the lock until this call.
	Held bool
	// Freed says that others may enter now.
	Freed bool
	// Told is the number of subscribers that received the announcement.
	Told int
	// PublishDenied says that the server refused to publish the announcement.
	PublishDenied bool
}

// ReadReleased reads the reply of Release.
func ReadReleased(r driver.Reply) (Released, error) {
	switch n := number(r); {
	case n >= 0:
		return Released{Held: true, Freed: true, Told: int(n)}, nil
	case n == -1:
		return Released{}, nil
	case n == -2:
		return Released{Held: true, Freed: true, PublishDenied: true}, nil
	case n == -3:
		return Released{Held: true}, nil
	}
	return Released{}, unexpected(releaseScript, r)
}

// Renewal is one lock of a batch.
type Renewal struct {
	Lock  string        // its key
	InUse string        // of a permit: the key of the permits in use
	Field string        // of the owner
	Write string        // the field of its write side; "" if it has none
	Over  bool          // the write hold has ended, and Redis may not know that yet
	Holds []string      // the timeout keys of the owner's read holds
	Lease time.Duration // the shortest time to live afterwards
	Note  string        // of the owner, "" if it has none
	Knows bool          // the owner knows that others ask
}

// Renewal is that of an owner's holds.
func (m Mutex) Renewal(owner string, _ Counts, _ bool, lease time.Duration) Renewal {
	return Renewal{Lock: m.Lock, Field: owner, Lease: lease}
}

// Move gives the one hold of an owner to another owner.
func (m Mutex) Move(from, to string, _ bool, lease time.Duration) Call {
	return moveScript.call(1, m.Lock, from, to, millis(lease))
}

// ReadMoved reads the reply of Move: for how long the new owner has the hold now, or 0.
func ReadMoved(r driver.Reply) (time.Duration, error) {
	n := number(r)
	if n < 0 {
		return 0, unexpected(moveScript, r)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// Field is the owner's, in the lock's hash.
func (m Mutex) Field(owner string, _ bool) string { return owner }

// Renew extends all locks of the batch, each only for its owner. A batch has permits alone, or none.
func Renew(batch []Renewal) Call {
	if batch[0].InUse != "" {
		return renewPermits(batch)
	}
	words := make([]string, 0, 6*len(batch))
	for _, one := range batch {
		words = append(words, one.Lock)
		words = append(words, one.Holds...)
	}
	keys := len(words)
	for _, one := range batch {
		words = append(words, one.Field, one.Write, flag(one.Over), millis(one.Lease), strconv.Itoa(len(one.Holds)), one.Note, flag(one.Knows))
	}
	return renewScript.call(keys, words...)
}

// writing are the renewals that write in any case.
var writing = map[*source]*source{
	renewScript:       load("renew", "shape", "rewrite", "note"),
	permitRenewScript: load("permit_renew", "shape", "note", "permit", "permit_rewrite"),
}

// Writing is a renewal that writes in any case, for replicas to confirm. It has its source: a server that does not know
// the script would wait for the replicas before it says so.
func (c Call) Writing() Call {
	c.script = writing[c.script]
	return c.Sourced()
}

// errRefused is the error of a renewal that Redis carried out only in part.
var errRefused = errors.New("the server refused a part of the renewal")

// Renewed is what Renew found of one lock of the batch.
type Renewed struct {
	Held   bool   // the owner still held it
	Err    error  // why the renewal is not confirmed, although the owner held it
	Recall string // what others ask of the owner, "" if nothing
}

// ReadRenewed reads the reply of Renew.
func ReadRenewed(r driver.Reply, batch int) ([]Renewed, error) {
	answers, err := list(renewScript, r, batch, nothing)
	all := make([]Renewed, batch)
	for i, one := range answers {
		switch {
		case one.Err != nil:
			return nil, one.Err
		case one.Int == -1:
			all[i] = Renewed{Held: true, Err: errRefused}
		default:
			all[i].Held, all[i].Recall = one.Int == 1 || one.Str != "", one.Str
		}
	}
	return all, err
}

// Force frees the lock, whoever holds it, or only if that owner does.
func (m Mutex) Force(owner string) Call {
	return forceScript.call(1, from(owner, m.Lock, m.Channel, m.Via.Unlocked())...)
}

// from are the words of a call that is about one owner, or about whoever holds the lock.
func from(owner string, words ...string) []string {
	if owner != "" {
		words = append(words, owner)
	}
	return words
}

// ReadForced reads the reply of Force: whether the lock was held, or held by that owner, until
// this call.
func ReadForced(r driver.Reply) (bool, error) { return readFlag(forceScript, r) }

// Status reads the lock and the counter of its fencing tokens.
func (m Mutex) Status(string) []Call {
	return []Call{statusScript.call(2, m.Lock, protocol.TokenKey(m.Lock))}
}

// ReadStatus reads the reply of Status.
func (m Mutex) ReadStatus(r driver.Reply) (State, error) {
	state, fields, err := readState(statusScript, r, 2, 3)
	for field := range slices.Chunk(fields, 3) {
		state.Mode, state.Owners = "exclusive", 1
		state.Holders = append(state.Holders, Field{Name: field[0].Str, Count: field[1].Str, TTL: state.TTL, Noted: readNoted(field[2])})
	}
	return state, err
}

package script

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	acquireScript = load("acquire", "shape", "exclusive", "token")
	releaseScript = load("release", "shape", "announce")
	renewScript   = load("renew", "shape")
	forceScript   = load("force", "shape", "exclusive", "force", "announce")
	statusScript  = load("status", "shape", "exclusive", "last")
)

// Acquire takes lock for owner, so that the owner's count is count afterwards.
func Acquire(lock, owner string, lease time.Duration, count int) Call {
	return acquireScript.call(1, lock, owner, millis(lease), strconv.Itoa(count))
}

// Acquired is what Acquire found.
type Acquired struct {
	// Granted says that the owner holds the lock, with the token if one was asked for.
	Granted bool
	Token   int64
	// Gone says that the requested count builds on a hold that is gone.
	Gone bool
	// TTL and Holder describe the hold of another owner, if neither is set. A negative TTL
	// means no expiry.
	TTL    time.Duration
	Holder string
}

// ReadAcquired reads the reply of Acquire.
func ReadAcquired(r driver.Reply) (Acquired, error) {
	if r.Err != nil {
		return Acquired{}, r.Err
	}
	n, err := number(acquireScript, r)
	switch {
	case err == nil && n == 1:
		return Acquired{Granted: true}, nil
	case err == nil && n == 0:
		return Acquired{Gone: true}, nil
	case len(r.Array) == 1 && r.Array[0].Err == nil && r.Array[0].Int > 0:
		return Acquired{Granted: true, Token: r.Array[0].Int}, nil
	case len(r.Array) == 2 && r.Array[0].Err == nil && r.Array[1].Err == nil:
		return Acquired{
			TTL:    duration(r.Array[0].Int),
			Holder: r.Array[1].Str,
		}, nil
	}
	return Acquired{}, unexpected(acquireScript, r)
}

// Release lowers the owner's count to remaining. At zero it frees the lock and announces that
// on channel. The lease is for the holds that remain.
func Release(lock, channel, owner string, remaining int, lease time.Duration, via protocol.Messages) Call {
	return releaseScript.call(1, lock, owner, strconv.Itoa(remaining), millis(lease), channel, via.Unlocked())
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
	n, err := number(releaseScript, r)
	switch {
	case err != nil:
		return Released{}, err
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
	Field string        // of the owner
	Write string        // the field of its write side; "" if it has none
	Over  bool          // the write hold has ended, and Redis may not know that yet
	Holds []string      // the timeout keys of the owner's read holds
	Lease time.Duration // the shortest time to live afterwards
}

// Renew extends all locks of the batch, each only for its owner.
func Renew(batch []Renewal) Call {
	words := make([]string, 0, 6*len(batch))
	for _, one := range batch {
		words = append(words, one.Lock)
		words = append(words, one.Holds...)
	}
	keys := len(words)
	for _, one := range batch {
		words = append(words, one.Field, one.Write, flag(one.Over), millis(one.Lease), strconv.Itoa(len(one.Holds)))
	}
	return renewScript.call(keys, words...)
}

// errRefused is the error of a renewal that Redis carried out only in part.
var errRefused = errors.New("the server refused a part of the renewal")

// Renewed is what Renew found of one lock of the batch.
type Renewed struct {
	Held bool  // the owner still held it
	Err  error // why the renewal is not confirmed, although the owner held it
}

// ReadRenewed reads the reply of Renew.
func ReadRenewed(r driver.Reply, batch int) ([]Renewed, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	if len(r.Array) != batch {
		return nil, unexpected(renewScript, r)
	}
	all := make([]Renewed, batch)
	for i, one := range r.Array {
		switch {
		case one.Err != nil:
			return nil, one.Err
		case one.Int == -1:
			all[i] = Renewed{Held: true, Err: errRefused}
		default:
			all[i].Held = one.Int == 1
		}
	}
	return all, nil
}

// Force frees lock, whoever holds it, and announces that on channel.
func Force(lock, channel string, via protocol.Messages) Call {
	return forceScript.call(1, lock, channel, via.Unlocked())
}

// ForceFrom frees lock if owner holds it, and announces that on channel.
func ForceFrom(lock, channel, owner string, via protocol.Messages) Call {
	return forceScript.call(1, lock, channel, via.Unlocked(), owner)
}

// ReadForced reads the reply of Force and ForceFrom: whether the lock was held, or held by that
// owner, until this call.
func ReadForced(r driver.Reply) (bool, error) {
	n, err := number(forceScript, r)
	if err == nil && n != 0 && n != 1 {
		err = unexpected(forceScript, r)
	}
	return n == 1, err
}

// Status reads lock and the counter of its fencing tokens.
func Status(lock, tokens string) Call { return statusScript.call(2, lock, tokens) }

// State is a lock's hash at one moment.
type State struct {
	// TTL is negative without expiry.
	TTL time.Duration
	// Token is the last fencing token issued, 0 if none.
	Token int64
	// Fields are the hash's fields and values; empty when the lock is free.
	Fields map[string]string
}

// ReadStatus reads the reply of Status.
func ReadStatus(r driver.Reply) (State, error) {
	all, err := list(statusScript, r, 2, 2)
	if err != nil {
		return State{}, err
	}
	state := State{TTL: duration(all[0].Int), Fields: make(map[string]string)}
	if state.Token, err = strconv.ParseInt(all[1].Str, 10, 64); err != nil {
		return State{}, unexpected(statusScript, r)
	}
	for field := range slices.Chunk(all[2:], 2) {
		state.Fields[field[0].Str] = field[1].Str
	}
	return state, nil
}

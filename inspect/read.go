package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// maxListed is how many holders and waiters of a lock are read, roughly.
const maxListed = 1000

// reading is what one key turned out to be.
type reading struct {
	lock   Lock
	isLock bool  // its owners have names that a client of the protocol writes
	err    error // ErrWrongType, or why it could not be read
}

// readAll reads locks, some at a time. The error is that of ctx.
func (i *Inspector) readAll(ctx context.Context, names []string) ([]reading, error) {
	return callAll(ctx, i, names, func(name string) script.Call {
		return script.Inspect(name, maxListed, i.scattered(name, protocol.TokenKey(name)))
	}, read)
}

// callAll sends one call for each name, some at a time, and reads the replies. The error is that of ctx.
func callAll[T any](ctx context.Context, i *Inspector, names []string, call func(name string) script.Call, read func(name string, reply driver.Reply) T) (all []T, err error) {
	for some := range slices.Chunk(names, i.batch()) {
		if err := i.pace.take(ctx, len(some)); err != nil {
			return all, err
		}
		calls := make([]script.Call, len(some))
		for n, name := range some {
			calls[n] = call(name)
		}
		runner := script.NewRunner(newPrepaid(i.driver, i.pace, len(some)), i.config.CommandTimeout)
		results := runner.RunEach(ctx, calls...)
		if err := ctx.Err(); err != nil {
			return all, err
		}
		for n, name := range some {
			all = append(all, read(name, results[n].Reply))
		}
	}
	return all, nil
}

// scattered says that a key that derives from a name lies in another slot of a cluster, so that no script
// may read both. No lock and no semaphore of redlatch in a cluster has such a name.
func (i *Inspector) scattered(name, derived string) bool {
	_, sharded := i.driver.(driver.Sharded)
	return sharded && driver.Slot(name) != driver.Slot(derived)
}

// read reads one reply.
func read(name string, reply driver.Reply) reading {
	found, err := script.ReadInspected(reply)
	switch script.Code(err) {
	case "":
	case "NOTLOCK", "WRONGTYPE":
		err = fmt.Errorf("%w: %w", redlatch.ErrWrongType, err)
		return reading{lock: Lock{Name: name, Waiting: -1, Findings: []Finding{wrongType(name)}, Seen: time.Now()}, err: err}
	default:
		err = right("+evalsha, +eval, or one of those that the script uses", err)
	}
	if err != nil {
		return reading{lock: Lock{Name: name, Waiting: -1}, err: err}
	}
	l := newLock(name, found)
	l.Findings = findingsIn(l, found)
	return reading{lock: l, isLock: isLock(found)}
}

func newLock(name string, found script.Inspected) Lock {
	l := Lock{
		Name: name, Mode: redlatch.Mode(found.Mode), Owners: found.Owners, Queued: max(found.Queued, 0),
		Waiting: -1, Token: found.Token, Seen: time.Now(), serverTime: found.Now,
	}
	switch {
	case found.Mode == "read" || found.Mode == "write":
		l.Kind = KindReadWrite
	case found.Queued > 0 || found.Timed > 0:
		l.Kind = KindFair
	case found.Mode != "":
		l.Kind = KindMutex
	}
	if l.Mode != "" {
		l.TTL = max(found.TTL, -1)
	}
	for _, field := range found.Holders {
		l.Holders = append(l.Holders, newHolder(l.Name, found, field))
	}
	for _, w := range found.Queue {
		l.Queue = append(l.Queue, Waiter{Owner: w.Owner, Deadline: w.Deadline})
	}
	return l
}

func newHolder(lock string, found script.Inspected, field script.InspectedField) Holder {
	h := Holder{Owner: ownerOf(found.Mode, field.Name), Count: field.Count, TTL: max(found.TTL, -1), Noted: newNoted(lock, field.Noted)}
	h.Write = h.Owner != field.Name
	if len(field.Left) == 0 || isDead(found, field) == unsure {
		return h
	}
	h.TTL = 0
	for _, left := range field.Left {
		switch {
		case left == noExpiry:
			h.TTL = max(found.TTL, -1)
			return h
		case left > 0:
			h.TTL = max(h.TTL, left)
			h.Holds = append(h.Holds, left)
		default:
			h.Holds = append(h.Holds, 0)
		}
	}
	return h
}

func newNoted(name string, found script.Noted) Noted {
	return Noted{Note: found.Note, Recall: script.Recalled(name, found.Recall), Told: found.Told}
}

// What the timeout keys of a hold say instead of a time.
const (
	noExpiry = -1 * time.Millisecond
	missing  = -2 * time.Millisecond
)

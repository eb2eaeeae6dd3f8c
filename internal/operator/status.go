// Package operator is for people who look after locks. It reads the state of one lock, frees it by force, and asks its
// holder to give it back. It acquires nothing.
package operator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Status is a lock at one moment, as Redis has it. See redlatch.Status.
type Status struct {
	Mode    string // "" while it is free
	Owners  int    // how many there are
	Holders []Holder
	TTL     time.Duration
	Token   int64
	Queue   []Waiter
}

// Holder is one owner that holds a lock.
type Holder struct {
	Owner  string
	Count  int
	Write  bool
	TTL    time.Duration
	Name   string // of its client, "" if unknown
	Note   string
	Recall *lockerr.RecalledError // nil if nobody asks for it
	Told   bool                   // of that
}

// Waiter is one owner that waits for a fair lock.
type Waiter struct {
	Owner    string
	Deadline time.Time
	Name     string // of its client, "" if unknown
}

// ReadStatus reads who holds a lock and who waits for it. With an owner it names no other reader.
func ReadStatus(ctx context.Context, r *lock.Ref, owner string) (Status, error) {
	const verb = "status of"
	began := time.Now()
	results, err := ask(ctx, r, verb, mode(r).Status(owner)...)
	if err != nil {
		return Status{}, err
	}
	status, err := read(r, results)
	if err != nil {
		return Status{}, lock.Failure(verb, r.Name, err)
	}
	status.addNames(ctx, r, began.Add(r.Manager().CommandTimeout))
	return status, nil
}

// addNames puts the names of clients into a status. It asks for them until then.
func (s *Status) addNames(ctx context.Context, r *lock.Ref, until time.Time) {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var owners []string
	for _, h := range s.Holders {
		owners = append(owners, h.Owner)
	}
	for _, w := range s.Queue {
		owners = append(owners, w.Owner)
	}
	m := r.Manager()
	names := m.Names()
	names.Learn(limited, m.Shard(r.Lock), r.Lock, slices.Compact(owners))
	for i := range s.Holders {
		s.Holders[i].Name = names.Known(s.Holders[i].Owner)
	}
	for i := range s.Queue {
		s.Queue[i].Name = names.Known(s.Queue[i].Owner)
	}
}

// mode is the mode of a lock. Permits can be neither read nor forced by it.
func mode(r *lock.Ref) script.LockMode { return r.Calls().(script.LockMode) }

// read reads the replies of all modes.
func read(r *lock.Ref, results []script.Result) (Status, error) {
	state, err := mode(r).ReadStatus(results[0].Reply)
	status := Status{Mode: state.Mode, Owners: state.Owners, Token: state.Token}
	if err != nil {
		return status, err
	}
	if state.Mode != "" {
		status.TTL = max(state.TTL, -1)
	}
	for _, f := range state.Holders {
		owner, write := f.Name, false
		if r.ReadWrite() {
			owner, write = protocol.ParseField(f.Name)
		}
		count, err := strconv.Atoi(f.Count)
		if err != nil {
			return Status{}, fmt.Errorf("%w: its hash has the field %s with the value %s", lockerr.ErrWrongType, protocol.Show(f.Name), protocol.Show(f.Count))
		}
		status.Holders = append(status.Holders, Holder{
			Owner: owner, Count: count, Write: write, TTL: max(f.TTL, -1), Note: f.Note, Recall: script.Recalled(r.Name, f.Recall), Told: f.Told,
		})
	}
	if r.Kind() != lock.KindFair {
		return status, nil
	}
	queue, err := script.ReadQueue(results[1].Reply)
	for _, w := range queue {
		status.Queue = append(status.Queue, Waiter{Owner: w.Owner, Deadline: w.Deadline})
	}
	return status, err
}

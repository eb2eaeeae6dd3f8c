package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
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

// Status reads who holds the lock and who waits for it. With an owner it names no other reader.
func (r *Ref) Status(ctx context.Context, owner string) (Status, error) {
	const verb = "status of"
	began := time.Now()
	results, err := r.Ask(ctx, verb, r.lockMode().Status(owner)...)
	if err != nil {
		return Status{}, err
	}
	status, err := r.readStatus(results)
	if err != nil {
		return Status{}, Failure(verb, r.Name, err)
	}
	r.addNames(ctx, &status, began.Add(r.manager.CommandTimeout))
	return status, nil
}

// addNames puts the names of clients into a status. It asks for them until then.
func (r *Ref) addNames(ctx context.Context, status *Status, until time.Time) {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var owners []string
	for _, h := range status.Holders {
		owners = append(owners, h.Owner)
	}
	for _, w := range status.Queue {
		owners = append(owners, w.Owner)
	}
	m := r.manager
	m.names.Learn(limited, m.shard(r.Lock), r.Lock, slices.Compact(owners))
	for i := range status.Holders {
		status.Holders[i].Name = m.names.Known(status.Holders[i].Owner)
	}
	for i := range status.Queue {
		status.Queue[i].Name = m.names.Known(status.Queue[i].Owner)
	}
}

// ForceUnlock frees the lock, whoever holds it, or for a given owner if it does. A permit is put back for its id.
func (r *Ref) ForceUnlock(ctx context.Context, owner string) (bool, error) {
	const verb = "force unlock"
	if err := r.unreadable(); err != nil {
		return false, err
	}
	call, read := r.force(owner)
	results, err := r.Ask(ctx, verb, call)
	if err != nil || results[0].Repeated { // a request without an answer may have done it
		r.manager.holders.look(r.key.lock)
	}
	if err != nil {
		return false, err
	}
	forced, err := read(results[0].Reply)
	if err != nil {
		return false, Failure(verb, r.Name, err)
	}
	if !forced && results[0].Repeated { // perhaps because an earlier request has done it
		return false, Failure(verb, r.Name, &script.UnknownError{Err: errRepeated})
	}
	if forced {
		r.manager.holders.look(r.key.lock)
		e := r.event(EventForced)
		e.Owner = owner
		r.manager.observe(ctx, e)
	}
	return forced, nil
}

// force is the call that frees the lock, and what reads its reply.
func (r *Ref) force(owner string) (script.Call, func(driver.Reply) (bool, error)) {
	if !r.permits {
		return r.lockMode().Force(owner), script.ReadForced
	}
	return r.calls().Release(owner, 0, script.Counts{}, 0), func(reply driver.Reply) (bool, error) {
		released, err := script.ReadReleased(reply)
		return released.Held, err
	}
}

var errRepeated = errors.New("the reply to an earlier request was lost")

// lockMode is the mode of a lock. Permits can be neither read nor forced by it.
func (r *Ref) lockMode() script.LockMode { return r.calls().(script.LockMode) }

// Ask runs calls that acquire nothing, in one request.
func (r *Ref) Ask(ctx context.Context, verb string, calls ...script.Call) ([]script.Result, error) {
	if err := r.unreadable(); err != nil {
		return nil, err
	}
	m := r.manager
	if !m.Enter() {
		return nil, fmt.Errorf("redlatch: %s %q: %w", verb, r.Name, lockerr.ErrClosed)
	}
	defer m.Leave()
	results, err := m.runner.RunAll(ctx, calls...)
	if err != nil {
		return nil, Failure(verb, r.Name, err)
	}
	return results, nil
}

// askWhether runs a call that acquires nothing, and whose reply says yes or no.
func (r *Ref) askWhether(ctx context.Context, verb string, call script.Call, read func(driver.Reply) (bool, error)) (bool, error) {
	results, err := r.Ask(ctx, verb, call)
	if err != nil {
		return false, err
	}
	yes, err := read(results[0].Reply)
	if err != nil {
		err = Failure(verb, r.Name, err)
	}
	return yes, err
}

// readStatus reads the replies of all modes.
func (r *Ref) readStatus(results []script.Result) (Status, error) {
	state, err := r.lockMode().ReadStatus(results[0].Reply)
	status := Status{Mode: state.Mode, Owners: state.Owners, Token: state.Token}
	if err != nil {
		return status, err
	}
	if state.Mode != "" {
		status.TTL = max(state.TTL, -1)
	}
	for _, f := range state.Holders {
		owner, write := f.Name, false
		if r.key.lock.rw {
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
	if !r.fair {
		return status, nil
	}
	queue, err := script.ReadQueue(results[1].Reply)
	for _, w := range queue {
		status.Queue = append(status.Queue, Waiter{Owner: w.Owner, Deadline: w.Deadline})
	}
	return status, err
}

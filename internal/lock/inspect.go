package lock

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Status is a lock at one moment, as Redis has it. See redlatch.Status.
type Status struct {
	Mode    string // "" while it is free
	Holders []Holder
	TTL     time.Duration
	Token   int64
	Queue   []script.Queued
}

// Holder is one owner that holds a lock.
type Holder struct {
	Owner string
	Count int
	Write bool
	TTL   time.Duration
}

// Status reads who holds the lock and who waits for it.
func (r *Ref) Status(ctx context.Context) (Status, error) {
	const verb = "status of"
	results, err := r.ask(ctx, verb, r.mode.status()...)
	if err != nil {
		return Status{}, err
	}
	status, err := r.mode.readStatus(results)
	if err != nil {
		return Status{}, Failure(verb, r.Name, err)
	}
	return status, nil
}

// ForceUnlock frees the lock, whoever holds it, or for a given owner if it does.
func (r *Ref) ForceUnlock(ctx context.Context, owner string) (bool, error) {
	const verb = "force unlock"
	results, err := r.ask(ctx, verb, r.mode.force(owner))
	if err != nil {
		return false, err
	}
	forced, err := script.ReadForced(results[0].Reply)
	if err != nil {
		return false, Failure(verb, r.Name, err)
	}
	return forced, nil
}

// ask runs calls that acquire nothing, in one request.
func (r *Ref) ask(ctx context.Context, verb string, calls ...script.Call) ([]script.Result, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	m := r.manager
	if !m.life.enter() {
		return nil, fmt.Errorf("redlatch: %s %q: %w", verb, r.Name, lockerr.ErrClosed)
	}
	defer m.life.leave()
	results, err := m.runner.RunAll(ctx, calls...)
	if err != nil {
		return nil, Failure(verb, r.Name, err)
	}
	return results, nil
}

func (x exclusive) force(owner string) script.Call {
	if owner == "" {
		return script.Force(x.name, x.channel, x.messages)
	}
	return script.ForceFrom(x.name, x.channel, owner, x.messages)
}

func (x exclusive) status() []script.Call {
	return []script.Call{script.Status(x.name, protocol.TokenKey(x.name))}
}

func (x exclusive) readStatus(results []script.Result) (Status, error) {
	state, err := script.ReadStatus(results[0].Reply)
	status := Status{Token: state.Token}
	if err != nil || len(state.Fields) == 0 {
		return status, err
	}
	status.Mode, status.TTL = "exclusive", max(state.TTL, -1)
	for owner, text := range state.Fields {
		count, err := readCount(owner, text)
		if err != nil {
			return Status{}, err
		}
		status.Holders = append(status.Holders, Holder{Owner: owner, Count: count, TTL: status.TTL})
	}
	return status, nil
}

func (f fair) force(owner string) script.Call {
	if owner == "" {
		return f.script.Force()
	}
	return f.script.ForceFrom(owner)
}

func (f fair) status() []script.Call { return append(f.exclusive.status(), f.script.Queue()) }

func (f fair) readStatus(results []script.Result) (Status, error) {
	status, err := f.exclusive.readStatus(results)
	if err != nil {
		return status, err
	}
	status.Queue, err = script.ReadQueue(results[1].Reply)
	return status, err
}

func (x readWrite) force(owner string) script.Call {
	return script.ForceRW(x.name, x.channel, owner, x.messages)
}

func (x readWrite) status() []script.Call {
	return []script.Call{script.StatusRW(x.name, protocol.TokenKey(x.name))}
}

func (x readWrite) readStatus(results []script.Result) (Status, error) {
	state, err := script.ReadStatusRW(results[0].Reply)
	status := Status{Mode: state.Mode, Token: state.Token}
	if err != nil || state.Mode == "" {
		return status, err
	}
	status.TTL = max(state.TTL, -1)
	for _, h := range state.Holders {
		owner, write := protocol.ParseField(h.Field)
		count, err := readCount(h.Field, h.Count)
		if err != nil {
			return Status{}, err
		}
		status.Holders = append(status.Holders, Holder{Owner: owner, Count: count, Write: write, TTL: max(h.TTL, -1)})
	}
	return status, nil
}

func readCount(field, text string) (int, error) {
	count, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%w: its hash has the field %s with the value %s", lockerr.ErrWrongType, protocol.Show(field), protocol.Show(text))
	}
	return count, nil
}

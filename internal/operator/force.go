package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

var errRepeated = errors.New("the reply to an earlier request was lost")

// Force frees a lock, whoever holds it, or for a given owner if it does. A permit is put back for its id.
func Force(ctx context.Context, r *lock.Ref, owner string) (bool, error) {
	const verb = "force unlock"
	if err := r.Readable(); err != nil {
		return false, err
	}
	call, read := force(r, owner)
	results, err := ask(ctx, r, verb, call)
	if err != nil || results[0].Repeated { // a request without an answer may have done it
		r.Look()
	}
	if err != nil {
		return false, err
	}
	forced, err := read(results[0].Reply)
	if err != nil {
		return false, lock.Failure(verb, r.Name, err)
	}
	if !forced && results[0].Repeated { // perhaps because an earlier request has done it
		return false, lock.Failure(verb, r.Name, &script.UnknownError{Err: errRepeated})
	}
	if forced {
		r.Look()
		r.TellForced(ctx, owner)
	}
	return forced, nil
}

// force is the call that frees the lock, and what reads its reply.
func force(r *lock.Ref, owner string) (script.Call, func(driver.Reply) (bool, error)) {
	if r.Kind() != lock.KindPermit {
		return mode(r).Force(owner), script.ReadForced
	}
	return r.Calls().Release(owner, 0, script.Counts{}, 0), func(reply driver.Reply) (bool, error) {
		released, err := script.ReadReleased(reply)
		return released.Held, err
	}
}

// Recall asks an owner to give the lock or the permit back, and reports whether it had it.
func Recall(ctx context.Context, r *lock.Ref, owner, reason string) (bool, error) {
	if err := r.Readable(); err != nil {
		return false, err
	}
	if r.ReadWrite() {
		owner, _ = protocol.ParseField(owner)
	}
	call := r.Calls().Recall(owner, protocol.Recall{Author: r.Manager().Name, Reason: reason}.String())
	asked, err := whether(ctx, r, "recall", call, script.ReadRecalled)
	if asked {
		r.Look()
	}
	return asked, err
}

// Ran reports whether the job of a lock was run for a time. With the token of a hold it notes that it is run now.
func Ran(ctx context.Context, r *lock.Ref, due time.Time, token int64) (bool, error) {
	return whether(ctx, r, "look for a run of", script.Ran(r.Lock, due, token), script.ReadRan)
}

// whether runs a call that acquires nothing, and whose reply says yes or no.
func whether(ctx context.Context, r *lock.Ref, verb string, call script.Call, read func(driver.Reply) (bool, error)) (bool, error) {
	results, err := ask(ctx, r, verb, call)
	if err != nil {
		return false, err
	}
	yes, err := read(results[0].Reply)
	if err != nil {
		err = lock.Failure(verb, r.Name, err)
	}
	return yes, err
}

// ask runs calls that acquire nothing, in one request.
func ask(ctx context.Context, r *lock.Ref, verb string, calls ...script.Call) ([]script.Result, error) {
	if err := r.Readable(); err != nil {
		return nil, err
	}
	m := r.Manager()
	if !m.Enter() {
		return nil, fmt.Errorf("redlatch: %s %q: %w", verb, r.Name, lockerr.ErrClosed)
	}
	defer m.Leave()
	results, err := m.Runner().RunAll(ctx, calls...)
	if err != nil {
		return nil, lock.Failure(verb, r.Name, err)
	}
	return results, nil
}

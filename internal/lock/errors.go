package lock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

var (
	errNotGranted    = errors.New("it was never granted")
	errOuterGone     = errors.New("the owner's outer hold was gone when it re-entered")
	errGoneAtRelease = errors.New("it was gone before it was released")
)

// endedInTime is renew.ErrExpired for a hold that ends when its caller said.
type endedInTime string

func (e endedInTime) Error() string        { return string(e) }
func (e endedInTime) Is(target error) bool { return target == renew.ErrExpired }

const (
	errFixedLease endedInTime = "its fixed lease has ended"
	errMaxHold    endedInTime = "its longest time has passed"
)

// refusal is the error of an attempt that has taken nothing, or of a repeated one of which that
// is not known.
func (r *Ref) refusal(ctx, limited context.Context, o outcome) error {
	unknown := script.IsUnknown(o.err)
	_, refused := errors.AsType[*driver.ServerError](o.err)
	switch {
	case o.err == nil:
		return r.notAcquired(ctx, o)
	case refused && o.holder != "" && !unknown && script.Moving(o.err):
		return fmt.Errorf("%w: %w", r.notAcquired(ctx, o), o.err)
	case !refused && !unknown && limited.Err() != nil && !errors.Is(o.err, driver.ErrNoConnection):
		return r.notAcquired(ctx, o)
	}
	return lockerr.WithCause(Failure(r.noun(), r.Name, o.err), ctx)
}

// notAcquired is the error of a wait that ended, with what is known of the holder.
func (r *Ref) notAcquired(ctx context.Context, o outcome) error {
	err := r.lockError(lockerr.ErrNotAcquired)
	holder := r.manager.names.Shown(o.holder)
	if o.note != "" {
		holder += fmt.Sprintf(" (%s)", protocol.Show(o.note))
	}
	switch {
	case r.permits && o.ttl == script.NoPermits:
		err = fmt.Errorf("%w: there is no such semaphore: TrySetPermits or AddPermits makes it", err)
	case o.holder == "":
	case o.ttl < 0 && r.fair: // only the head of the queue is told
		err = fmt.Errorf("%w: held by %s", err, holder)
	case o.ttl < 0:
		err = fmt.Errorf("%w: held by %s, which never expires", err, holder)
	default:
		err = fmt.Errorf("%w: held by %s, %v left when last seen", err, holder, o.ttl)
	}
	return &lockerr.NotAcquiredError{Err: lockerr.WithCause(err, ctx), Holder: o.holder, Note: o.note, TTL: o.ttl}
}

// NotAcquired is the error of an acquisition that was refused in memory, because of a hold or of nothing that
// is known.
func (r *Ref) NotAcquired(ctx context.Context, because *Hold) error {
	var o outcome
	if because != nil {
		o = because.grant().seen()
	}
	return r.notAcquired(ctx, o)
}

// Closed is the error of an acquisition that comes too late.
func (r *Ref) Closed() error { return r.lockError(lockerr.ErrClosed) }

// Failure wraps the error of a verb on a lock with the condition that a caller can match.
func Failure(verb, name string, err error) error {
	switch code := script.Code(err); {
	case script.IsUnknown(err):
		return fmt.Errorf("redlatch: %s %q: %w: %w", verb, name, lockerr.ErrUnknownOutcome, err)
	case code == "WRONGTYPE" || code == "NOTLOCK":
		return fmt.Errorf("redlatch: %s %q: %w: %w", verb, name, lockerr.ErrWrongType, err)
	case code == "UNDECLARED":
		return fmt.Errorf("redlatch: %s %q: %w: the server runs no read-write locks, because it wants all keys of a script to be declared: %w",
			verb, name, lockerr.ErrUnsupported, err)
	}
	return fmt.Errorf("redlatch: %s %q: %w", verb, name, err)
}

// lockError is an error of a lock, or of a semaphore.
func (r *Ref) lockError(why error) error {
	return fmt.Errorf("redlatch: %s %q: %w", r.noun(), r.Name, why)
}

// noun is what an error calls it.
func (r *Ref) noun() string {
	if r.permits {
		return "semaphore"
	}
	return "lock"
}

// lostError is ErrLost with its reason.
func (r *Ref) lostError(verb string, why error) error {
	return fmt.Errorf("redlatch: %s %q: %w: %w", verb, r.Name, lockerr.ErrLost, why)
}

func (r *Ref) upgradeError() error {
	return fmt.Errorf("redlatch: lock %q: %w, by the same owner", r.Name, lockerr.ErrUpgrade)
}

// Bare strips the mark of an unknown outcome from an error, once the outcome is resolved or
// ErrUnknownOutcome says it.
func Bare(err error) error {
	if unknown, ok := errors.AsType[*script.UnknownError](err); ok {
		return unknown.Err
	}
	return err
}

// CutOff says that an error is neither an answer of a server nor the lack of a connection: the time of
// the request was up.
func CutOff(err error) bool {
	_, refused := errors.AsType[*driver.ServerError](err)
	return !refused && !errors.Is(err, driver.ErrNoConnection)
}

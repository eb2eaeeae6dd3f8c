package redlatch

import (
	"cmp"
	"context"
	"errors"

	"github.com/redlatch/redlatch/internal/lockerr"
)

// Do runs fn while it holds l. It blocks until the lock is held and fn has
// returned. The context given to fn ends when the hold is lost or recalled (Hold.Recalled), so work that heeds
// it stops in time. The lock is released also when fn panics.
//
// The error joins those of fn and of the release. It matches ErrLost if the hold was lost while fn
// ran, even when fn returned nil. If the lock was not acquired, fn is not called and the error is
// that of Lock, and matches ErrNotCalled. If l or fn is nil, nothing is locked and the error is a *ConfigError. fn need not call Unlock. If it does, fn must report any
// error of that Unlock other than ErrLost.
func Do(ctx context.Context, l Lock, fn func(ctx context.Context, h *Hold) error, opts ...LockOption) (err error) {
	if err := cmp.Or(lockerr.Missing("lock", l), lockerr.Missing("fn", fn)); err != nil {
		return notCalled{err}
	}
	h, err := l.Lock(ctx, opts...)
	if err := lockerr.Taken(l, h, err); err != nil {
		return notCalled{err}
	}
	defer func() {
		err = errors.Join(err, h.Unlock(ctx))
		if lost := h.Err(); errors.Is(lost, ErrLost) && !errors.Is(err, ErrLost) {
			err = errors.Join(err, lost) // fn has unlocked it itself
		}
	}()
	h.lock().EndWhenRecalled()
	if err = fn(h.Context(), h); errors.Is(err, ErrNotCalled) {
		err = called{err}
	}
	return err
}

// notCalled is the error of a Do whose function was not called.
type notCalled struct{ error }

func (n notCalled) Is(target error) bool { return target == ErrNotCalled }
func (n notCalled) Unwrap() error        { return n.error }

// called is the error of a function. It matches all that the error in it does, but for ErrNotCalled.
type called struct{ error }

func (c called) Is(target error) bool { return target != ErrNotCalled && errors.Is(c.error, target) }
func (c called) As(target any) bool   { return errors.As(c.error, target) }

// DoValue is Do for a function with a result. The result is what fn returned, also if there is an
// error, and the zero value if fn was not called. After ErrLost it may have been made without the
// lock.
func DoValue[T any](ctx context.Context, l Lock, fn func(ctx context.Context, h *Hold) (T, error), opts ...LockOption) (T, error) {
	var value T
	if err := lockerr.Missing("fn", fn); err != nil {
		return value, notCalled{err}
	}
	err := Do(ctx, l, func(ctx context.Context, h *Hold) (err error) {
		value, err = fn(ctx, h)
		return err
	}, opts...)
	return value, err
}

package redlatch

import (
	"context"
	"errors"
)

// Do runs fn while it holds l. It blocks until the lock is held and fn has
// returned. The context given to fn ends when the hold is lost, so work that heeds
// it stops in time. The lock is released also when fn panics.
//
// The error joins those of fn and of the release. It matches ErrLost if the hold was
// lost while fn ran, even when fn returned nil. If the lock was not acquired, fn is
// not called and the error is that of Lock. fn need not call Unlock. If it does, any
// other error of that Unlock is for fn alone to report.
func Do(ctx context.Context, l Lock, fn func(ctx context.Context, h *Hold) error, opts ...LockOption) (err error) {
	h, err := l.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, h.Unlock(ctx))
		if lost := h.Err(); errors.Is(lost, ErrLost) && !errors.Is(err, ErrLost) {
			err = errors.Join(err, lost) // fn has unlocked it itself
		}
	}()
	return fn(h.Context(), h)
}

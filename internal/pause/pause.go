// Package pause waits for a time or the end of a context, whichever comes first, makes the pauses between repeated
// attempts, and keeps the code of callers' contexts from those who wait behind them.
package pause

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/redlatch/redlatch/internal/random"
)

// For waits for d. If ctx ends before that, it returns the context's error at once.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		// Without a timer: the race detector of Go 1.26 crashes if two are due at once in fake time.
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Bound is ctx, or a child of it if ctx is of a caller's own type. Whoever asks it whether it has ended, or when it
// will, runs no code of the caller. Nor does the function that ends the child, and takes it off ctx aside. So nobody else
// has to wait for that code.
func Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	end, _ := ctx.Deadline()
	if answersItself(ctx) {
		return bound{ctx, end}, func() {}
	}
	child, cancel := context.WithCancel(ctx)
	return bound{child, end}, func() { go cancel() }
}

// answersItself says that a context of package context, maybe below values, knows by itself whether it has ended. Of
// contexts that it does not know it says no.
func answersItself(ctx context.Context) bool {
	for reflect.TypeOf(ctx) == withValue {
		parent := reflect.ValueOf(ctx).Elem().Field(0)
		if !parent.CanInterface() {
			return false
		}
		ctx, _ = parent.Interface().(context.Context)
	}
	return knowing[reflect.TypeOf(ctx)]
}

// The types of contexts that package context makes.
var withValue, knowing = func() (reflect.Type, map[reflect.Type]bool) {
	timed, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	cancelled, cancel := context.WithCancel(timed)
	defer cancel()
	valued := context.WithValue(timed, bound{}, nil)
	return reflect.TypeOf(valued), map[reflect.Type]bool{
		reflect.TypeOf(context.Background()): true, reflect.TypeOf(timed): true, reflect.TypeOf(cancelled): true,
	}
}()

// NotOfCaller returns err, which concerns no caller or another one, so that no caller takes it
// for the end of its own context. Network timeouts, too, claim to be
// context.DeadlineExceeded.
func NotOfCaller(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return notOfCaller{err}
	}
	return err
}

type notOfCaller struct{ error }

func (e notOfCaller) Is(target error) bool {
	return target != context.Canceled && target != context.DeadlineExceeded && errors.Is(e.error, target)
}

func (e notOfCaller) As(target any) bool { return errors.As(e.error, target) }

type bound struct {
	context.Context
	end time.Time
}

func (b bound) Deadline() (end time.Time, limited bool) { return b.end, !b.end.IsZero() }

// Within waits for a value for a while. It is zero if none came.
func Within[T any](d time.Duration, values <-chan T) (value T) {
	select {
	case value = <-values:
	case <-time.After(d):
	}
	return value
}

// Backoff makes the pauses between repeated attempts. They double from First up to Max, and each
// is Jittered. The zero value makes none.
type Backoff struct {
	First, Max time.Duration
	made       int // pauses since the last Reset
}

// After returns the pause that follows so many others.
func (b Backoff) After(others int) time.Duration {
	d := min(b.First, b.Max)
	for i := 0; i < others && 0 < d && d < b.Max; i++ {
		d += min(d, b.Max-d)
	}
	return Jittered(d)
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	b.made++
	return b.After(b.made - 1)
}

// Wait waits for the next pause. If ctx ends before that, it returns the context's error at once.
func (b *Backoff) Wait(ctx context.Context) error { return For(ctx, b.Next()) }

// Reset begins again with the first pause.
func (b *Backoff) Reset() { b.made = 0 }

// Jittered returns d, or up to half less, at random: what many do at once they do not repeat at
// the same moment.
func Jittered(d time.Duration) time.Duration { return d - random.Below(d/2+1) }

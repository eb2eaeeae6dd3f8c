package call

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/redlatch/redlatch/driver"
)

// maxAside is how many calls of foreign code may be under way at a time. Each may last for ever.
const maxAside = 16

// Aside runs foreign code: a dialer, or a function for credentials. Nobody relies on its regard for a
// context.
type Aside struct{ places chan struct{} }

// NewAside returns one for which no code runs yet.
func NewAside() Aside { return Aside{make(chan struct{}, maxAside)} }

// Run calls f, the function of an option, on a goroutine of its own, and returns what f returns. Run returns a
// *driver.OptionError if f panics, ends its goroutine, or returns nil and no error. If ctx ends first, Run returns
// the reason. Run passes what f makes after that to late. Nothing else waits for f.
func Run[T any](ctx context.Context, a Aside, option string, f func() (T, error), late func(T)) (made T, err error) {
	select {
	case a.places <- struct{}{}:
	case <-ctx.Done():
		return made, fmt.Errorf("%w, behind %d calls of a dialer, or for credentials, that did not end in time", Ended(ctx), maxAside)
	}
	type result struct {
		made T
		err  error
	}
	done, gone := make(chan result), make(chan struct{})
	defer close(gone)
	go func() {
		r := result{err: &driver.OptionError{Option: option, Reason: "it has ended its goroutine"}}
		defer func() {
			if p := recover(); p != nil {
				r.err = &driver.OptionError{Option: option, Reason: fmt.Sprintf("it panicked: %v\n\n%s", p, debug.Stack())}
			}
			<-a.places
			select {
			case done <- r:
			case <-gone:
				if r.err == nil {
					late(r.made)
				}
			}
		}()
		if r.made, r.err = f(); r.err == nil && isNil(r.made) {
			r.err = &driver.OptionError{Option: option, Reason: "it has returned nil, and no error"}
		}
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-ctx.Done():
		return made, Ended(ctx)
	}
}

func isNil(made any) bool {
	v := reflect.ValueOf(made)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

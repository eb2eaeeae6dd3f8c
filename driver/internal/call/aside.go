package call

import (
	"context"
	"errors"
	"fmt"
)

// maxAside is how many calls of foreign code may be under way at a time. Each may last for ever.
const maxAside = 16

// errGoexit is the result of foreign code that does not return.
var errGoexit = errors.New("a dialer, or a function for credentials, has ended its goroutine")

// Aside runs foreign code: a dialer, or a function for credentials. Nobody relies on its regard for a
// context.
type Aside struct{ places chan struct{} }

// NewAside returns one for which no code runs yet.
func NewAside() Aside { return Aside{make(chan struct{}, maxAside)} }

// Run calls f on a goroutine of its own, and returns what f does. If ctx ends first, Run returns why.
// What f makes after that goes to late, and nothing else waits for f.
func Run[T any](ctx context.Context, a Aside, f func() (T, error), late func(T)) (made T, err error) {
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
		r := result{err: errGoexit}
		defer func() {
			<-a.places
			select {
			case done <- r:
			case <-gone:
				if r.err == nil {
					late(r.made)
				}
			}
		}()
		r.made, r.err = f()
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-ctx.Done():
		return made, Ended(ctx)
	}
}

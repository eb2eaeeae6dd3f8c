package check

import (
	"bytes"
	"context"
	"runtime"
	"time"
)

// Panicking is a context of somebody's own type, of which one call panics: the last of so many that are left, in the
// goroutine that has made it. In any other goroutine that would end the process, as package context asks contexts there, too.
func Panicking(ctx context.Context, left *int) context.Context {
	return panicking{ctx, left, goroutine()}
}

type panicking struct {
	context.Context
	left      *int
	goroutine string
}

func goroutine() string {
	text := make([]byte, 64)
	return string(bytes.Fields(text[:runtime.Stack(text, false)])[1])
}

func (c panicking) count() {
	if goroutine() == c.goroutine {
		if *c.left--; *c.left == 0 {
			panic("a context panics")
		}
	}
}

func (c panicking) Done() <-chan struct{}       { c.count(); return c.Context.Done() }
func (c panicking) Err() error                  { c.count(); return c.Context.Err() }
func (c panicking) Deadline() (time.Time, bool) { c.count(); return c.Context.Deadline() }
func (c panicking) Value(key any) any           { c.count(); return c.Context.Value(key) }

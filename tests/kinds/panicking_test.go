package kinds_test

import (
	"bytes"
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

// panicking is a context of somebody's own type, of which one call panics in the goroutine that has made it. In any other
// goroutine that would end the process, as package context asks contexts there, too.
type panicking struct {
	context.Context
	calls     *int // that are left until then
	goroutine string
}

func goroutine() string {
	text := make([]byte, 64)
	return string(bytes.Fields(text[:runtime.Stack(text, false)])[1])
}

func (c panicking) count() {
	if goroutine() == c.goroutine {
		if *c.calls--; *c.calls == 0 {
			panic("a context panics")
		}
	}
}

func (c panicking) Done() <-chan struct{}       { c.count(); return c.Context.Done() }
func (c panicking) Err() error                  { c.count(); return c.Context.Err() }
func (c panicking) Deadline() (time.Time, bool) { c.count(); return c.Context.Deadline() }
func (c panicking) Value(key any) any           { c.count(); return c.Context.Value(key) }

// Goal: if a call of a context panics, as each call of a nil context does, nothing is held for ever. A further Unlock
// releases the hold. Method: first the first call panics, then the second one, and so on, until none does.
func TestAContextThatPanicsHoldsNoLock(t *testing.T) {
	for what, verb := range map[string]func(s *scene.Scene) (of func(ctx context.Context), cleanUp func()){
		"Lock": func(s *scene.Scene) (func(ctx context.Context), func()) {
			return func(ctx context.Context) { s.Home.Free(check.Must(s.Home.Lock.Lock(ctx))) }, func() {}
		},
		"Lock behind another": func(s *scene.Scene) (func(ctx context.Context), func()) {
			holder := s.Stranger()
			held := holder.Block()
			time.AfterFunc(time.Second, func() { holder.Free(held.Hold) })
			return func(ctx context.Context) { s.Home.Free(check.Must(s.Home.Lock.Lock(ctx))) }, func() {}
		},
		"Unlock": func(s *scene.Scene) (func(ctx context.Context), func()) {
			h := check.Must(s.Home.Lock.Lock(s.Context()))
			return func(ctx context.Context) { check.Must(0, h.Unlock(ctx)) }, func() { s.Home.Free(h) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				for n, returned := 1, false; !returned; n++ {
					do, cleanUp := verb(s)
					left := n
					func() {
						defer func() { _ = recover() }()
						do(panicking{s.Context(), &left, goroutine()})
						returned = true
					}()
					cleanUp()
					time.Sleep(time.Minute)
					rival := s.Stranger()
					h, err := rival.Rival.Lock(s.Context(), redlatch.WithWait(time.Minute))
					if err != nil || n == 100 {
						s.Fatalf("after a panic at call %d: %v", n, err)
					}
					rival.Free(h)
				}
			})
		})
	}
}

package kinds_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

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
						do(check.Panicking(s.Context(), &left))
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

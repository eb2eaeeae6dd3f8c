package faults_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// leaving is a context of a caller's own type that ends the goroutine that asks it for its deadline.
type leaving struct{ context.Context }

func (leaving) Done() <-chan struct{} { return nil }

func (leaving) Deadline() (time.Time, bool) { runtime.Goexit(); return time.Time{}, false }

// Goal: Unlock of a Multi returns whatever the caller's context does. Method: an owner's members are released on goroutines of their own.
func TestUnlockReturnsAlthoughAContextEndsItsGoroutine(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		owner := s.Client.WithOwner(s.Limited())
		h := check.Must(check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b"))).Lock(owner))
		done := make(chan error, 1)
		go func() {
			defer close(done)
			done <- h.Unlock(leaving{context.Background()})
		}()
		select {
		case err := <-done:
			t.Log("Unlock:", err)
		case <-time.After(time.Hour):
			t.Fatal("Unlock has not returned after an hour")
		}
	})
}

package counters_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: if a call of a context panics, no permit is lost: nothing else would put it back. Method: first the first call
// panics, then the second one, and so on, until none does.
func TestAContextThatPanicsTakesNoPermit(t *testing.T) {
	for what, taken := range map[string]bool{"at once": false, "after a wait": true} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				semaphore := s.Client.Semaphore("plain")
				check.Must(semaphore.TrySetPermits(s.Limited(), 1))
				for n, returned := 1, false; !returned; n++ {
					if taken {
						check.Must(0, semaphore.Acquire(s.Limited(), 1))
						time.AfterFunc(time.Second, func() { check.Must(0, semaphore.Release(context.Background(), 1)) })
					}
					left := n
					func() {
						defer func() { _ = recover() }()
						check.Must(0, semaphore.Acquire(check.Panicking(s.Limited(), &left), 1))
						returned = true
						check.Must(0, semaphore.Release(s.Limited(), 1))
					}()
					time.Sleep(time.Minute)
					if have := check.Must(semaphore.Available(s.Limited())); have != 1 || n == 100 {
						t.Fatalf("after a panic at call %d, %d permits are available", n, have)
					}
				}
			})
		})
	}
}

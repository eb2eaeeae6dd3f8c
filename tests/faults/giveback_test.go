package faults_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: what is released for a waiter that has left does not take the lock away from the
// same owner's next hold, which is the same field in Redis. Method: waits so short that many
// end just while a release hands the lock over, and owners that ask again at once. Where the
// lock was taken away, the next release finds it gone.
func TestAGrantThatIsGivenBackDoesNotEndTheSameOwnersNextHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := fixture.Open(t, server.URL(), redlatch.Config{})
	m := c.Mutex(redistest.Name(t))
	var losses, rounds, vain atomic.Int64
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			ctx := c.WithOwner(t.Context())
			for time.Now().Before(end) {
				h, err := m.TryLock(ctx, redlatch.WithWait(time.Duration(200+rounds.Load()%7*150)*time.Microsecond))
				if err != nil {
					vain.Add(1)
					continue
				}
				rounds.Add(1)
				if err := h.Unlock(ctx); errors.Is(err, redlatch.ErrLost) {
					losses.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d holds, %d tries in vain", rounds.Load(), vain.Load())
	if losses.Load() > 0 {
		t.Errorf("%d of %d holds were lost", losses.Load(), rounds.Load())
	}
}

package fair_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a server without an answer does not keep the next in turn on another one from learning
// when a short lease ends. Each holder dies: it leaves the lock to its lease.
func TestAFrozenShardDoesNotDelayTheNextInTurnOnAnother(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		const lease = 450 * time.Millisecond
		d := &distant{Driver: s.Memory, trip: time.Millisecond}
		c := s.On(sharded{d}, redlatch.Config{})
		h := check.Must(s.Client.FairMutex("a{1}").Lock(t.Context()))
		var frozen turns
		frozen.wait(s, 1, c.FairMutex("a{1}"))
		time.Sleep(time.Second)
		d.freeze("a")
		entered := make(chan time.Time, 8)
		for range cap(entered) {
			go func() {
				check.Must(c.FairMutex("b{1}").Lock(t.Context(), redlatch.WithLease(lease)))
				entered <- time.Now()
			}()
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		for i, last := 1, <-entered; i < cap(entered); i++ {
			next := <-entered
			check.Within(t, fmt.Sprint("time between the expiry and entry ", i), next.Sub(last)-lease, 0, 20*time.Millisecond)
			last = next
		}
		d.freeze("")
		_ = h.Unlock(t.Context())
		frozen.all.Wait()
	})
}

package redlatch_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// Goal: a server without an answer does not keep the next in turn on another one from learning
// when a short lease ends. Each holder dies: it leaves the lock to its lease.
func TestAFrozenShardDoesNotDelayTheNextInTurnOnAnother(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		const lease = 450 * time.Millisecond
		d := &distant{Driver: s.memory, trip: time.Millisecond}
		c := s.on(sharded{d}, redlatch.Config{})
		h := must(s.client.FairMutex("a{1}").Lock(t.Context()))
		var frozen turns
		frozen.wait(s, 1, c.FairMutex("a{1}"))
		time.Sleep(time.Second)
		d.freeze("a")
		entered := make(chan time.Time, 8)
		for range cap(entered) {
			go func() {
				must(c.FairMutex("b{1}").Lock(t.Context(), redlatch.WithLease(lease)))
				entered <- time.Now()
			}()
			synctest.Wait()
			time.Sleep(10 * time.Millisecond)
		}
		for i, last := 1, <-entered; i < cap(entered); i++ {
			next := <-entered
			within(t, fmt.Sprint("time between the expiry and entry ", i), next.Sub(last)-lease, 0, 20*time.Millisecond)
			last = next
		}
		d.freeze("")
		_ = h.Unlock(t.Context())
		frozen.all.Wait()
	})
}

package session_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: whatever is lost, in the end Redis says what the registry says. Method: goroutines of the processor's own order.
func TestLongTheSessionAgreesWithTheRegistryAfterRandomLossesInParallel(t *testing.T) {
	t.Parallel()
	m := redistest.Must(memory.Open(t.Context(), memory.Options{}))
	t.Cleanup(m.Close)
	s := newStage(t, m)
	s.memory = m
	t.Cleanup(s.end)
	s.Ready(t.Context())
	for range redistest.Stretch(2) {
		var luck atomic.Int64
		s.driver.set(func() (bool, bool) {
			n := luck.Add(1)
			if n%97 == 0 {
				s.do("DEL", protocol.SessionKey(s.client))
			}
			return n%41 == 0, n%53 == 0
		})
		var working sync.WaitGroup
		for of := range 8 {
			working.Go(func() {
				for end := time.Now().Add(4 * second); time.Now().Before(end); {
					lock := fmt.Sprint(of, " ", rand.IntN(20))
					if rand.IntN(2) == 0 {
						s.enter(lock)
					} else {
						s.leave(lock)
					}
					time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
				}
			})
		}
		working.Wait()
		s.driver.set(nil)
		redistest.Eventually(t, 5*second, func() bool { return slices.Equal(s.inRedis(), s.Keys()) && s.Confirmed() }, "Redis says what the registry says")
	}
}

package session_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Goal: a session that is lost comes back, however busy its client is. Method: it is removed once, as a watchdog does that took
// the client for dead. 20 holds stay, and at each heartbeat 15 others come and go while it is under way.
func TestASessionThatWasLostComesBackInABusyClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		var want []string
		for i := range 20 {
			lock := fmt.Sprint("kept ", i)
			s.enter(lock)
			want = append(want, entryOf(lock).Key())
		}
		slices.Sort(want)
		synctest.Wait()
		var beats atomic.Int64
		s.driver.mu.Lock()
		s.driver.before = func(commands []driver.Command) {
			if commands[0].Key == protocol.Sessions {
				beat := beats.Add(1)
				for i := range 15 {
					s.enter(fmt.Sprint(beat, " ", i))
					s.leave(fmt.Sprint(beat, " ", i))
				}
			}
		}
		s.driver.mu.Unlock()
		s.do("DEL", protocol.SessionKey(s.client))
		time.Sleep(time.Minute)
		s.wantInRedis(fmt.Sprintf("%d heartbeats later", beats.Load()), want...)
	})
}

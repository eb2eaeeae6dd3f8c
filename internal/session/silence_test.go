package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Goal: a client that has heard of no living watchdog for half a lease is not guarded, whatever
// the reason. Method: the server refuses the heartbeat, because somebody wrote another type into
// the shared set.
func TestAHeartbeatThatIsRefusedEndsTheGuard(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.watchdog(10 * second)
		s.Ready(t.Context())
		time.Sleep(lease / 12)
		if !s.Guarded() {
			t.Fatal("not guarded at first")
		}
		s.do("DEL", protocol.Sessions)
		s.do("SET", protocol.Sessions, "no set")
		time.Sleep(2 * lease)
		synctest.Wait()
		if s.log.count("no answer to the heartbeat") != 1 {
			t.Fatal("the heartbeat was answered: this test tests nothing")
		}
		if s.Guarded() || s.Watchdogs() != 0 {
			t.Errorf("for two leases nobody was heard of: guarded %v, by %d watchdogs", s.Guarded(), s.Watchdogs())
		}
	})
}

package session_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: what was left while Redis was not told anything is forgotten.
func TestWhatWasLeftInAnOutageIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("kept")
		s.enter("left")
		synctest.Wait()
		s.driver.set(func() (request, reply bool) { return true, false })
		time.Sleep(3 * second) // a heartbeat was missed
		s.leave("left")
		s.driver.set(nil)
		time.Sleep(time.Minute)
		s.wantInRedis("a minute after the outage", "c:1 kept")
	})
}

// Goal: however long an outage lasts, the client keeps nothing of the attempts that fail meanwhile.
func TestAnOutageKeepsNothingOfWhatFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("kept")
		s.driver.set(func() (request, reply bool) { return true, false })
		for i := range 1000 {
			time.Sleep(100 * time.Millisecond)
			s.enter(strconv.Itoa(i))
			s.leave(strconv.Itoa(i))
		}
		if n := s.Kept(); n > 1 {
			t.Errorf("%d keys are kept", n)
		}
		s.driver.set(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		s.wantInRedis("a minute after the outage", "c:1 kept")
	})
}

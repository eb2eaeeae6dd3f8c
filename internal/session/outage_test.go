package session_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// Goal: what was left while Redis was not told anything is forgotten, however busy the client
// is afterwards. Method: a request that is under way for all the time, as one always is in a
// busy client. It explains any difference of one entry.
func TestWhatWasLeftInAnOutageIsForgottenByABusyClient(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.Ready(t.Context())
		s.enter("kept")
		s.enter("left")
		busy := entryOf("busy")
		note, _ := s.Enter(busy.Key(), busy, false)
		s.driver.set(func() (request, reply bool) { return true, false })
		time.Sleep(3 * second) // a heartbeat was missed
		s.leave("left")
		s.driver.set(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		s.wantInRedis("a minute after the outage", "c:1 busy", "c:1 kept")
		s.along(busy.Key(), note)
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
			failed := entryOf(strconv.Itoa(i))
			if note, send := s.Enter(failed.Key(), failed, false); send {
				s.along(failed.Key(), note)
			}
			s.Drop(failed.Key())
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

package session

import (
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// waits is what the loop knows of the waits that Redis was told of. They are told for people and
// programs that look for deadlocks: no lock depends on them. So they are told with the heartbeat
// alone, and a failure has no consequence.
type waits struct {
	told    bool // Redis may have some
	some    bool // the last call told some
	refused bool // by the server, which would log each further attempt
}

// waitsCall is the call that tells what the client waits for: the waits that began before the last
// heartbeat that was answered. It reports false if there is nothing to tell.
//
// Whoever reads the waits of several clients asks whether they overlapped. So none may seem longer
// than it was: Since is rather too late, and Confirmed too early. Both come from the reply to that
// heartbeat: the server told its time between asked and nowAt. The time at which the script of this call
// runs would not do for Confirmed. The request may be late or repeated, and the wait have ended.
func (s *Session) waitsCall() (call script.Call, tell bool) {
	s.mu.Lock()
	now, nowAt, asked := s.now, s.nowAt, s.asked
	s.mu.Unlock()
	if now.IsZero() || s.waits.refused {
		return call, false
	}
	looked := time.Now()
	all := s.settings.Waits(script.MaxWaits, asked)
	if len(all) == 0 && !s.waits.told {
		return call, false
	}
	for i := range all {
		all[i].Since, all[i].Confirmed = now.Add(all[i].Since.Sub(asked)+rounded), now.Add(looked.Sub(nowAt))
	}
	s.waits.some, s.waits.told = len(all) > 0, true
	return script.SessionWaits(s.settings.Client, s.ttl(), all...).Piggybacked(), true
}

// rounded is by how much the milliseconds of a Since may be too early: those that the server tells, and
// those that it is told, are rounded down.
const rounded = 2 * time.Millisecond

// waitsAnswered notes the answer to that call.
func (s *Session) waitsAnswered(result script.Result) {
	err := result.Reply.Err
	if script.Code(err) == "NOPERM" {
		s.waits.refused, s.waits.told = true, false
		s.settings.Logger.Warn("redlatch: the server refuses to be told of waits, so redlatch deadlocks does not see them",
			"client", s.settings.Client, "error", err)
		return
	}
	s.waits.told = s.waits.some || err != nil
}

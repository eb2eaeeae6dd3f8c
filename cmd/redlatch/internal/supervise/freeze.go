//go:build unix

package supervise

import "time"

// freeze stops the tree of a protected hold when the deadline is near, and continues it when the
// deadline has moved on. A watchdog may renew the hold while the holder is paused. That is known
// only when the holder is awake and Redis has answered.
func (s *supervisor) freeze() {
	near := passed(s.times.kill(s.hold.Deadline()), time.Now())
	switch {
	case near:
		s.frozen = true
		s.tree.stop(s.times.margin / 2) // also what somebody continued meanwhile
	case s.frozen:
		s.frozen = false
		if !s.asleep {
			s.goOn()
		}
	}
}

package supervise

import (
	"fmt"
	"time"
)

// schedule says when a command has to be stopped to be gone before the deadline of its
// hold.
type schedule struct {
	lease     time.Duration
	killAfter time.Duration // from SIGTERM to SIGKILL
	margin    time.Duration // from SIGKILL to the deadline
}

func newSchedule(lease, killAfter time.Duration) schedule {
	return schedule{lease: lease, killAfter: killAfter, margin: step(lease)}
}

// step is the margin for a few processes.
func step(lease time.Duration) time.Duration { return min(lease/10, maxMargin) }

// work is for how long a process tree is killed that it takes so long to walk through, if the switch has half of that
// time, and the holder the other half. To kill a tree takes up to six times as long as to walk through it.
func work(walk time.Duration) time.Duration { return 12 * walk }

// allow makes the margin large enough for a process tree that it takes so long to walk through, as far as a
// renewal that is due keeps its time. A margin does not become smaller, and grows in steps.
func (s *schedule) allow(walk time.Duration) {
	step := step(s.lease)
	margin := step + work(walk)
	s.margin = max(s.margin, min(margin-margin%(step/4+1), s.lease/2-s.killAfter))
}

// grow takes note of a longer lease of the hold, whose deadline has moved on already.
func (s *schedule) grow(lease, walk time.Duration) {
	s.lease = max(s.lease, lease)
	s.allow(walk)
}

// wants is the lease that leaves time to kill such a tree: the present one, or twice as much as often as it takes.
func (s *schedule) wants(walk time.Duration) time.Duration {
	lease := s.lease
	for lease < maxLease && work(walk) > max(lease/2-s.killAfter-step(lease), step(lease)/2) {
		lease = min(2*lease, maxLease)
	}
	return lease
}

const (
	// maxMargin is time enough to kill a few processes and to see them die, also on a machine that is
	// busy.
	maxMargin = time.Second
	// maxLease is how long a lease becomes at most for the sake of a tree: the default of a client.
	maxLease = 30 * time.Second
	// lostKillAfter is the most that a command gets to end in good order when
	// somebody else may have the lock already.
	lostKillAfter = 2 * time.Second
	// maxKillAfter is the most that it gets without having been asked for more.
	maxKillAfter = 10 * time.Second
)

// KillAfter is the time between SIGTERM and SIGKILL that suits a lease.
func KillAfter(lease time.Duration) time.Duration { return min(lease/6, maxKillAfter) }

// CheckKillAfter says what is wrong with a time between SIGTERM and SIGKILL. From half
// of the lease on, a renewal that is due after a third of it would come too late.
func CheckKillAfter(killAfter, lease time.Duration) error {
	if killAfter < 0 || killAfter >= lease/2 {
		return fmt.Errorf("%v is not between 0 and half of the lease, %v", killAfter, lease/2)
	}
	return nil
}

// term is the moment of SIGTERM for a hold with this deadline.
func (s schedule) term(deadline time.Time) time.Time { return s.kill(deadline).Add(-s.killAfter) }

// kill is the moment of SIGKILL for a hold with this deadline.
func (s schedule) kill(deadline time.Time) time.Time { return deadline.Add(-s.margin) }

// unrenewed is when a renewal has not come in time: a little after it was due, and before SIGTERM.
func (s schedule) unrenewed(deadline time.Time) time.Time { return deadline.Add(-s.lease * 11 / 20) }

// last is the moment at which the holder stops what the switch should have stopped before.
func (s schedule) last(deadline time.Time) time.Time { return deadline.Add(-s.margin / 2) }

// late is the moment at which the switch should have begun.
func (s schedule) late(deadline time.Time) time.Time { return deadline.Add(-s.margin * 7 / 8) }

// tick is how often the holder looks for a new deadline. A fiftieth of the lease leaves a renewal
// that is due after a third of it its time, with any kill-after that is allowed.
func (s schedule) tick() time.Duration { return min(max(s.lease/50, 5*time.Millisecond), time.Second) }

// pause is how late a tick is that means a pause of the process.
func (s schedule) pause() time.Duration { return s.lease / 10 }

// slack is the time between a renewal that is due and SIGTERM. A pause that is shorter does not explain
// why a hold was not renewed.
func (s schedule) slack() time.Duration { return s.lease*2/3 - s.margin - s.killAfter }

// due says whether it is time to stop a command.
func due(hold Hold, times schedule) Reason {
	select {
	case <-hold.Done():
		return Lost
	default:
	}
	if passed(times.term(hold.Deadline()), time.Now()) {
		return OutOfTime
	}
	return ""
}

// killLost is the moment of SIGKILL for a hold that is known to be lost now.
func (s schedule) killLost(deadline, now time.Time) time.Time {
	soon := now.Add(min(s.killAfter, lostKillAfter))
	if kill := s.kill(deadline); kill.Before(soon) {
		return kill
	}
	return soon
}

// passed says whether a moment has come, on either clock: while a machine is suspended
// the monotonic one stands still, and the lease in Redis does not.
func passed(moment, now time.Time) bool {
	return !now.Before(moment) || !now.Round(0).Before(moment.Round(0))
}

package demo

import (
	"fmt"
	"time"
)

// listen keeps the scene in step with what a worker says.
func (s *show) listen(n news) {
	r := s.scene.row(n.member.number)
	if r == nil {
		return
	}
	if n.ended {
		r.state = left
		return
	}
	since := r.since
	r.state, r.since = n.event.Kind, time.Now()
	switch n.event.Kind {
	case ready:
		r.client = n.event.Client
	case holding:
		r.stays = n.event.Stay > 0
		s.entered(n.member, n.event.order)
	case lost:
		s.often(bad, "%s lost its hold and wrote nothing", n.member.name())
	case resting:
		r.done = n.event.Done
		if r.stays {
			s.note(neutral, "%s released the lock after %s", n.member.name(), seconds(r.since.Sub(since)))
		}
	}
}

// measure takes what Redis says.
func (s *show) measure(taken sample) {
	s.scene.trouble = taken.err
	if taken.err != nil {
		return
	}
	renewed, from := s.gauge.take(taken)
	s.scene.sample, s.scene.renewals = taken, s.gauge.renewals
	if renewed {
		s.often(good, "%s renewed its lease: TTL %s -> %s", s.scene.holder(), seconds(from), seconds(taken.ttl))
	}
	if s.scene.orphaned() {
		s.leftBehind(taken)
	}
}

// leftBehind finds out how much of its lease the victim had left. Nobody renews it
// any more, so it has run down evenly since the kill. The last sample counts: when
// the first one was taken, a renewal may still have been on its way.
func (s *show) leftBehind(taken sample) {
	first := s.report.LeaseLeft == 0
	s.report.LeaseLeft = taken.ttl + taken.at.Sub(s.victim.killed())
	if first {
		s.note(neutral, "the lock is still %s's, for the %s that its lease had left", s.victim.name(), seconds(s.report.LeaseLeft))
	}
}

// read takes the journal as far as it goes, and the counter.
func (s *show) read() error {
	records, err := s.stage.reader.next()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	before := s.referee.verdict
	for _, r := range records {
		s.referee.see(r)
	}
	v := s.referee.verdict
	s.scene.verdict = v
	if n := len(s.referee.handOvers); n > 0 {
		s.scene.handOver = s.referee.handOvers[n-1]
	}
	for _, back := range v.Recoveries[len(before.Recoveries):] {
		s.note(good, "the lease of w%d expired: w%d acquired the lock, %s after the kill", back.Killed, back.Heir, seconds(back.After))
	}
	if v.Overlaps > before.Overlaps {
		s.often(bad, "OVERLAP: more than one worker was inside")
	}
	s.scene.counter, err = s.stage.counter.read()
	return err
}

// note tells of something that happened.
func (s *show) note(m mood, format string, args ...any) {
	s.noted = time.Now()
	n := note{after: s.noted.Sub(s.scene.began), mood: m, text: fmt.Sprintf(format, args...)}
	s.display(func() error { return s.view.note(n) })
}

// often tells of something that may happen too often to be told each time.
func (s *show) often(m mood, format string, args ...any) {
	const pause = 300 * time.Millisecond
	if time.Since(s.noted) >= pause {
		s.note(m, format, args...)
	}
}

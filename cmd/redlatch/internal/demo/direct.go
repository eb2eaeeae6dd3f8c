package demo

import (
	"fmt"
	"strings"
	"time"
)

// open starts the workers.
func (s *show) open() error {
	s.display(func() error { return s.view.begin(&s.scene) })
	var names []string
	for range s.settings.Workers {
		m, err := s.crew.hire()
		if err != nil {
			return err
		}
		s.scene.rows = append(s.scene.rows, rowOf(m))
		names = append(names, fmt.Sprintf("%s pid %d", m.name(), m.pid()))
	}
	s.note(neutral, "started %s", strings.Join(names, ", "))
	return nil
}

// act does what is due of the plan.
func (s *show) act(now time.Time) error {
	if !s.killAt.IsZero() && now.After(s.killAt) {
		s.killAt = time.Time{}
		s.victim.kill()
	}
	if len(s.acts) == 0 || now.Sub(s.scene.began) < s.acts[0].at {
		return nil
	}
	due := s.acts[0]
	s.acts = s.acts[1:]
	return due.give(s.stage.folder)
}

// entered reacts to a worker that holds the lock.
func (s *show) entered(m *member, o order) {
	switch {
	case o.Doomed:
		s.victim, s.killAt = m, time.Now().Add(s.plan.dwell)
		s.note(neutral, "%s acquired the lock, and will be killed inside", m.name())
	case o.Stay > 0:
		s.note(neutral, "%s acquired the lock, and stays inside for %s", m.name(), seconds(o.Stay))
	}
}

// hear takes news of a worker while the demonstration runs. None may leave by itself
// then.
func (s *show) hear(n news) error {
	s.listen(n)
	if !n.ended {
		return nil
	}
	s.crew.bury(n.member)
	switch {
	case n.err != nil:
		return n.err
	case n.member.killedAt.Load() == 0:
		return fmt.Errorf("worker %s (pid %d) left before its time", n.member.name(), n.member.pid())
	}
	return s.replace(n.member)
}

// replace puts a new worker in the place of one that was killed. What it left in
// Redis is not the new one's: it waits like the others.
func (s *show) replace(dead *member) error {
	s.note(bad, "%s was killed with SIGKILL inside its critical section", dead.name())
	m, err := s.crew.hire()
	if err != nil {
		return err
	}
	place := s.scene.row(dead.number)
	s.scene.dead = *place
	*place = rowOf(m)
	place.replaces = dead.number
	s.note(neutral, "%s started, pid %d, in its place", m.name(), m.pid())
	return nil
}

func rowOf(m *member) row {
	return row{number: m.number, pid: m.pid(), state: starting, since: time.Now()}
}

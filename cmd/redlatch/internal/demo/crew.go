package demo

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// crew are the workers that live.
type crew struct {
	program []string // the command line of a worker
	task    task     // all but its number
	journal *journal
	news    chan news
	members []*member // that have not been reported as ended
	last    int       // the number given last

	// patience is how long dismissed workers may take to leave. They bound their
	// own releases, so it passes only where something is badly stuck.
	patience time.Duration
}

func newCrew(t task, journal *journal, verb string) (*crew, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start it again: %w", err)
	}
	return &crew{program: []string{program, verb}, task: t, journal: journal, news: make(chan news, 256), patience: 8 * time.Second}, nil
}

// hire starts one more worker.
func (c *crew) hire() (*member, error) {
	c.last++
	t := c.task
	t.Worker = c.last
	m, err := launch(c.program, t, c.journal, c.news)
	if err == nil {
		c.members = append(c.members, m)
	}
	return m, err
}

// bury takes a worker that has ended from the list.
func (c *crew) bury(m *member) {
	c.members = slices.DeleteFunc(c.members, func(other *member) bool { return other == m })
}

// disband asks all workers to leave, kills those that do not, and returns when none
// is left. The error tells of those that failed. hear is told all news.
func (c *crew) disband(hear func(news)) error {
	for _, m := range c.members {
		m.dismiss()
	}
	limit := time.NewTimer(c.patience)
	defer limit.Stop()
	var failures []error
	for len(c.members) > 0 {
		select {
		case n := <-c.news:
			hear(n)
			if n.ended {
				c.bury(n.member)
				failures = append(failures, n.err)
			}
		case <-limit.C:
			for _, m := range c.members {
				failures = append(failures, fmt.Errorf("worker %s (pid %d) did not leave within %v and was killed", m.name(), m.pid(), c.patience))
				m.kill()
			}
		}
	}
	return errors.Join(failures...)
}

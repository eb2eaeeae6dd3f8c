package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// counting is the story of workers that add one to a number, over and over. One of them
// stays inside for longer than its lease, and one is killed inside.
type counting struct {
	*stage
	lock    lock
	gauge   gauge
	number  int64 // in the counter
	referee *referee
	rows    []*row
	logged  time.Duration // when the log said last how things stand

	next      time.Duration // for how long whoever enters next stays; 0 for the usual
	doomed    bool          // whoever enters next is killed
	dead      *row          // the worker that was killed; nil before
	leaseLeft time.Duration
}

// row is one worker's place.
type row struct {
	*process
	client   string // first half of its owners
	since    time.Time
	done     int
	stays    bool // inside, because it was told to
	replaces int  // the number of the one that was killed in this place, or 0
}

func newCounting(s *stage) *counting {
	return &counting{stage: s, lock: s.newLock(s.settings.Fair), gauge: gauge{lease: s.settings.Lease}, referee: newReferee()}
}

func (c *counting) begin(context.Context) error {
	c.length = c.settings.For
	p := c.settings.plan()
	stay := func() error { c.next = p.holdFor; return nil }
	c.steps = []step{{p.holds[0], stay}, {p.kill, func() error {
		c.next, c.doomed = p.dwell+p.holdFor, true // longer than the parent takes to kill it
		return nil
	}}}
	for _, at := range p.holds[1:] {
		c.steps = append(c.steps, step{at, stay})
	}
	if !c.narrator.draws() {
		c.narrator.print(on(bold, "redlatch demo: %d processes add to one unguarded number, under one lock", c.settings.Workers))
		c.narrator.print(append(c.head()[1:], nil)...)
	}
	names := ""
	for range c.settings.Workers {
		r, err := c.hire()
		if err != nil {
			return err
		}
		c.rows = append(c.rows, r)
		names += fmt.Sprintf(", w%d pid %d", r.number, r.pid())
	}
	c.note(neutral, "started %s", names[len(", "):])
	return nil
}

// hire starts a worker.
func (c *counting) hire() (*row, error) {
	p, err := c.start(fmt.Sprintf("worker w%d", c.processes.last+1), task{Lock: c.lock.Name(), Fair: c.settings.Fair, Rest: c.settings.Work + 2*time.Millisecond})
	return &row{process: p, since: c.now}, err
}

func (c *counting) hear(p *process, e event) error {
	c.judge(e)
	i := slices.IndexFunc(c.rows, func(r *row) bool { return r.process == p })
	if i < 0 {
		return nil
	}
	r := c.rows[i]
	inside := c.now.Sub(r.since)
	switch e.Kind {
	case doubts, holds:
		return nil
	case leave:
		r.done++
		return nil
	case ready:
		r.client = e.Client
	case lost:
		c.often(bad, "w%d lost its hold and wrote nothing", r.number)
	case resting:
		if r.stays {
			c.note(neutral, "w%d released the lock after %s", r.number, seconds(inside))
		}
	}
	r.state, r.since = e.Kind, c.now
	if e.Kind == enter {
		c.answer(r, e.Visit)
	}
	if e.Kind == gone && p.killedAt.Load() != 0 && !c.over {
		return c.replace(i)
	}
	return nil
}

// judge tells what the referee finds.
func (c *counting) judge(e event) {
	before := c.referee.verdict
	c.referee.see(e)
	for _, back := range c.referee.verdict.Recoveries[len(before.Recoveries):] {
		c.note(good, "the lease of w%d expired: w%d acquired the lock, %s after the kill", back.Killed, back.Heir, seconds(back.After))
	}
	if c.referee.verdict.Overlaps > before.Overlaps {
		c.often(bad, "OVERLAP: more than one worker was inside")
	}
}

// answer orders how long a worker that has entered stays.
func (c *counting) answer(r *row, visit int) {
	r.tell(order{visit, max(c.settings.Work, c.next)})
	r.stays = c.next > 0
	switch {
	case c.doomed:
		c.note(neutral, "w%d acquired the lock, and will be killed inside", r.number)
		kill := step{c.elapsed() + c.settings.plan().dwell, func() error { r.kill(); return nil }}
		c.steps = append([]step{kill}, c.steps...)
	case r.stays:
		c.note(neutral, "w%d acquired the lock, and stays inside for %s", r.number, seconds(c.next))
	}
	c.next, c.doomed = 0, false
}

// replace puts a new worker in the place of one that was killed. What it left in
// Redis is not the new one's: it waits like the others.
func (c *counting) replace(i int) error {
	c.dead = c.rows[i]
	c.note(bad, "w%d was killed with SIGKILL inside its critical section", c.dead.number)
	r, err := c.hire()
	if err != nil {
		return err
	}
	r.replaces = c.dead.number
	c.rows[i] = r
	c.note(neutral, "w%d started, pid %d, in its place", r.number, r.pid())
	return nil
}

func (c *counting) look(ctx context.Context) (err error) {
	if renewed, from := c.gauge.ask(ctx, c.lock); renewed {
		c.often(good, "%s renewed its lease: TTL %s -> %s", c.holder(), seconds(from), seconds(c.gauge.last.ttl))
	}
	if c.orphaned() && c.gauge.err == nil {
		// Nobody renews it any more, so it has run down evenly since the kill. The last
		// look counts: at the first, a renewal may still have been on its way.
		first := c.leaseLeft == 0
		c.leaseLeft = c.gauge.last.ttl + c.gauge.last.at.Sub(time.Unix(0, c.dead.killedAt.Load()))
		if first {
			c.note(neutral, "the lock is still w%d's, for the %s that its lease had left", c.dead.number, seconds(c.leaseLeft))
		}
	}
	c.number, err = c.counter.read()
	c.narrator.draw(c.frame)
	c.log()
	return err
}

// log says once a second how things stand where no frame shows it.
func (c *counting) log() {
	if !c.narrator.draws() && c.elapsed() >= c.logged+time.Second {
		c.logged = c.elapsed().Truncate(time.Second)
		c.narrator.note(c.elapsed(), neutral, "%s", c.state())
	}
}

func (c *counting) conclude(interrupted, failed bool) bool {
	if !failed {
		c.gauge.ask(context.Background(), c.lock) // it is free
	}
	var err error
	c.number, err = c.counter.read()
	r := report{Verdict: c.referee.judge(c.number), ran: c.elapsed(), interrupted: interrupted, renewals: c.gauge.renewals, leaseLeft: c.leaseLeft}
	c.narrator.draw(c.frame)
	c.narrator.write(r.text(c.settings))
	c.narrator.err = errors.Join(err, c.narrator.err)
	return r.Sound()
}

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// counting is the scenario of workers that add one to a number, over and over. One of them
// stays inside for longer than its lease, and one is killed inside.
type counting struct {
	*runner
	*gauge
	number  int64 // in the counter
	referee *referee
	workers []*process
	logged  time.Duration // when the log said last how things stand

	next      func(*process) // what is done with whoever enters next
	dead      *process       // the worker that was killed; nil before
	leaseLeft time.Duration  // that the dead worker had
}

// Times in leases. One worker stays inside for longer than its lease: the TTL is seen to jump up
// again. Then one is killed after it has been seen inside: the TTL is seen to run down.
const (
	stayAfter = 0.5
	stayFor   = 1.5
	doomAfter = 2.25
	killAfter = 0.15
	minLeases = 4 // for all of it
)

func newCounting(r *runner) *counting {
	c := &counting{runner: r, gauge: r.newGauge(), referee: newReferee()}
	c.next = c.work
	return c
}

func (c *counting) begin(context.Context) error {
	c.length = c.settings.For
	c.after(c.settings.leases(stayAfter), func() error { c.next = c.stay; return nil })
	c.after(c.settings.leases(doomAfter), func() error { c.next = c.doom; return nil })
	if !c.screen.draws() {
		c.screen.print(fmt.Sprintf("redlatch demo: %d processes add to one unguarded number, under one lock", c.settings.Workers))
		c.screen.print(append(c.head()[1:], "")...)
	}
	names := ""
	for range c.settings.Workers {
		if err := c.hire(); err != nil {
			return err
		}
		p := c.workers[len(c.workers)-1]
		names += fmt.Sprintf(", %v pid %d", p, p.pid())
	}
	c.note(plain, "started %s", names[len(", "):])
	return nil
}

// hire starts a worker.
func (c *counting) hire() error {
	p, err := c.start(c.gauge, task{Fair: c.settings.Fair, Rest: c.settings.Work + 2*time.Millisecond})
	c.workers = append(c.workers, p)
	return err
}

// work has a worker stay inside for the usual time.
func (c *counting) work(p *process) { p.leaveAfter(c.settings.Work) }

// stay has a worker stay inside for longer than its lease.
func (c *counting) stay(p *process) {
	stay := c.settings.leases(stayFor)
	c.note(plain, "%v acquired the lock, and stays inside for %s", p, seconds(stay))
	p.stays = true
	p.leaveAfter(stay)
}

// doom has a worker killed inside. Nobody ends its visit, so it cannot have written.
func (c *counting) doom(p *process) {
	c.note(plain, "%v acquired the lock, and will be killed inside", p)
	time.AfterFunc(c.settings.leases(killAfter), p.kill)
}

func (c *counting) hear(p *process, e event) error {
	c.judge(e)
	switch e.Kind {
	case enter:
		do := c.next
		c.next = c.work
		do(p)
	case lost:
		c.often(bad, "%v lost its hold and wrote nothing", p)
	case resting:
		if p.stays {
			c.note(plain, "%v released the lock after %s", p, seconds(c.now.Sub(p.since)))
		}
	case gone:
		if p.killedAt.Load() != 0 {
			return c.replace(p)
		}
	}
	return nil
}

// judge tells what the referee finds.
func (c *counting) judge(e event) {
	before := c.referee.report
	for _, p := range c.workers { // on a busy machine the end of a killed one is heard after its heir
		if at := p.killedAt.Load(); at != 0 && e.Kind == enter && at <= e.At {
			c.referee.see(event{Kind: gone, Number: p.number, At: at})
		}
	}
	c.referee.see(e)
	for _, back := range c.referee.recoveries[len(before.recoveries):] {
		c.note(good, "the lease of w%d expired: w%d acquired the lock, %s after the kill", back.killed, back.heir, seconds(back.after))
	}
	if c.referee.overlaps > before.overlaps {
		c.often(bad, "OVERLAP: more than one worker was inside")
	}
}

// replace puts a new worker in the place of one that was killed. What that left in
// Redis is not the new one's: it waits like the others.
func (c *counting) replace(p *process) error {
	c.dead = p
	c.leaseLeft = c.left(p.killed())
	c.note(bad, "%v was killed with SIGKILL inside its critical section", p)
	c.note(plain, "the lock is still %v's, for the %s that its lease had left", p, seconds(c.leaseLeft))
	if err := c.hire(); err != nil {
		return err
	}
	i, last := slices.Index(c.workers, p), len(c.workers)-1
	c.workers[i], c.workers = c.workers[last], c.workers[:last]
	c.workers[i].replaces = p
	c.note(plain, "%v started, pid %d, in its place", c.workers[i], c.workers[i].pid())
	return nil
}

func (c *counting) look(ctx context.Context) (err error) {
	if renewed, from := c.ask(ctx); renewed {
		c.often(good, "%s renewed its lease: TTL %s -> %s", c.holder(), seconds(from), seconds(c.ttl))
	}
	if c.orphaned() {
		// The last look counts. At the first, a renewal may still have been on its way.
		c.leaseLeft = c.left(c.dead.killed())
	}
	c.number, err = c.counter.read()
	c.screen.draw(c.frame)
	c.log()
	return err
}

// log says once a second how things stand where no frame shows it.
func (c *counting) log() {
	if !c.screen.draws() && c.elapsed() >= c.logged+time.Second {
		c.logged = c.elapsed().Truncate(time.Second)
		c.screen.note(c.elapsed(), plain, "%s", strings.Join(c.status(), "; "))
	}
}

func (c *counting) conclude(interrupted, failed bool) bool {
	if !failed {
		c.ask(context.Background()) // it is free
	}
	var err error
	c.number, err = c.counter.read()
	r := c.referee.judge(c.number)
	r.renewals, r.leaseLeft = c.renewals, c.leaseLeft
	how := map[bool]string{true: "interrupted after", false: "ran for"}[interrupted]
	c.screen.draw(c.frame)
	c.screen.print("", fmt.Sprintf("%s %s, %d processes, lease %v, work %v", how, seconds(c.elapsed()), c.settings.Workers, c.settings.Lease, c.settings.Work), "")
	c.screen.write(r.text())
	c.screen.err = errors.Join(err, c.screen.err)
	return r.sound()
}

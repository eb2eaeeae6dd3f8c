package lock

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/signal"
)

// cohort lets the goroutines of one process pass a lock on in memory. It is all acquisitions of one
// side of a lock that ask for the same. In Redis an ordinary hold, the base, holds the lock. Each
// goroutine that is let in has a turn of the base: a hold of its own.
//
//	no base ── somebody asks ──▶ asking ── granted ──▶ in use ── last turn ended ──▶ unused
//	   ▲                         │   ▲                   │ ▲                          │ │ │
//	   │◀──────── refused ───────┘   │                   │ └──── a turn begins ───────┘ │ │
//	   │                             └─────── it is too late for a further turn ────────┘ │
//	   └──────────── lost ───────────────────────────────┴──── nobody wants it ───────────┘
//
// It is too late for a further turn when the time of the base is over, or its block of tokens is
// used up. The next in line then releases the old base and asks for another one, for all of them.
// Readers do not wait for the turns of an old base. It is released when the last of them ends.
type cohort struct {
	ref *Ref
	key cohortKey
	set *cohorts

	mu        sync.Mutex
	dead      bool    // it has left its set
	closed    bool    // it puts nobody in line any more
	asking    bool    // a turn asks for a base
	releasing bool    // the timer releases a base that nobody wants, as if a turn asked
	base      *base   // on which turns may begin, or nil
	waiters   []*turn // in the order of their arrival
	block     int64   // how many tokens the next base takes

	idle  *time.Timer // when it fires, a base that nobody wants is to be released
	armed bool        // it runs
	since time.Time   // when the last turn of the base ended
}

// cohortKey is what all turns of a cohort have in common.
type cohortKey struct {
	lock lockID
	read bool
	opts Options // without the wait
}

// cohorts are the cohorts of a manager.
type cohorts struct {
	waiting atomic.Int64

	mu     sync.Mutex
	all    map[cohortKey]*cohort
	closed bool
}

// of returns the cohort for an acquisition.
func (s *cohorts) of(r *Ref, opts *Options) *cohort {
	key := cohortKey{r.key.lock, r.read, *opts}
	key.opts.Wait = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all[key]
	if c == nil {
		c = &cohort{ref: r, key: key, set: s, closed: s.closed, block: fewestTokens}
		if s.all == nil {
			s.all = make(map[cohortKey]*cohort)
		}
		s.all[key] = c
	}
	return c
}

// forget forgets a cohort that is dead.
func (s *cohorts) forget(c *cohort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c.key)
}

// close ends all waits.
func (s *cohorts) close() {
	s.mu.Lock()
	s.closed = true
	all := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *cohort) int { return strings.Compare(a.ref.Lock, b.ref.Lock) }) // so that a simulation can be repeated
	for _, c := range all {
		c.close()
	}
}

const (
	// fewestTokens and mostTokens bound the block of tokens that a base takes at once. The block
	// is twice what the base before has used.
	fewestTokens = 16
	mostTokens   = 1 << 16
)

// enter lets a turn in at once, makes it ask for a base, or puts it in line. It reports false if
// none of this is possible. If the cohort is dead, it does none of this and reports true.
func (c *cohort) enter(t *turn, wait bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch first := len(c.waiters) == 0 && !c.asking; {
	case c.dead:
	case c.closed:
		return false
	case first && c.letIn(t):
	case first && c.mayAsk():
		c.ask(t)
	case !wait && !c.releasing && c.key.read && len(c.waiters) == 0:
		t.ordinary = true
	case !wait && !c.releasing:
		return false
	default:
		t.told = make(chan struct{}, 1)
		c.waiters = append(c.waiters, t)
		c.set.waiting.Add(1)
	}
	return true
}

// letIn begins a turn if that is possible now.
func (c *cohort) letIn(t *turn) bool {
	if c.base == nil || len(c.base.turns) > 0 && !c.key.read {
		return false
	}
	now := time.Now()
	if !c.base.open(now) {
		return false
	}
	c.base.begin(t, now)
	return true
}

// mayAsk says that another base may be asked for, once letIn has failed.
func (c *cohort) mayAsk() bool { return c.base == nil || c.key.read || len(c.base.turns) == 0 }

// ask makes a turn ask for another base. The turn first releases the old one, if nobody uses it.
func (c *cohort) ask(t *turn) {
	c.asking, t.asks = true, true
	if b := c.retire(); b != nil && len(b.turns) == 0 {
		t.releases = b
	}
}

// retire lets no further turn of the base begin, and returns the base. If it has no turns, the caller
// releases it. Otherwise the last turn does.
func (c *cohort) retire() *base {
	b := c.base
	if b != nil {
		c.base, c.block = nil, min(max(2*b.used, fewestTokens), mostTokens)
	}
	return b
}

// advance lets in all who may enter now, or makes the first in line ask for a base. If nobody is in
// line, it starts the timer for an unused base, or forgets a cohort without one.
func (c *cohort) advance() {
	for len(c.waiters) > 0 && !c.asking && c.letIn(c.waiters[0]) {
		signal.Send(c.next().told)
	}
	switch {
	case c.asking:
	case len(c.waiters) > 0:
		if c.mayAsk() {
			t := c.next()
			c.ask(t)
			signal.Send(t.told)
		}
	case c.base == nil:
		c.dead = true
		c.set.forget(c)
	case len(c.base.turns) == 0:
		c.since = time.Now()
		c.arm()
	}
}

// next takes the first turn out of the line.
func (c *cohort) next() *turn {
	t := c.waiters[0]
	c.waiters[0] = nil
	c.waiters = c.waiters[1:]
	c.set.waiting.Add(-1)
	return t
}

// leave takes out a turn that is in line and does not wait any more. It reports false if the turn
// has been let in, or is to ask for a base.
func (c *cohort) leave(t *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiters, t)
	if i < 0 {
		return false
	}
	c.waiters = slices.Delete(c.waiters, i, i+1)
	c.set.waiting.Add(-1)
	return true
}

// asked notes what the turn that asked has got: a base, or nil. That turn is let in first.
func (c *cohort) asked(t *turn, b *base) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.releasing = false, false
	if b != nil && b.hold.Join(b) == nil {
		c.base = b
		b.begin(t, time.Now())
		for c.key.read && len(c.waiters) > 0 { // however long the answer took
			b.begin(c.waiters[0], time.Now())
			signal.Send(c.next().told)
		}
	}
	c.advance()
}

// close ends all waits.
func (c *cohort) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for len(c.waiters) > 0 {
		t := c.next()
		t.closed = true
		signal.Send(t.told)
	}
}

// left is for how much longer a base that nobody wants is kept.
func (c *cohort) left() time.Duration {
	return min(c.base.linger-time.Since(c.since), time.Until(c.base.until))
}

// arm starts the timer, unless it runs. When it fires, takeIdle decides whether it starts again.
func (c *cohort) arm() {
	switch {
	case c.armed:
		return
	case c.idle == nil:
		c.idle = time.AfterFunc(c.left(), c.endIdle)
	default:
		c.idle.Reset(c.left())
	}
	c.armed = true
}

// endIdle releases a base that nobody wants.
func (c *cohort) endIdle() {
	life := &c.ref.manager.life
	if !life.enterRelease() {
		return // Close releases every hold
	}
	defer life.leave()
	if b := c.takeIdle(); b != nil {
		defer c.asked(nil, nil)
		_ = b.release(context.Background(), false)
	}
}

// takeIdle takes the base away if nobody has wanted it for long enough.
func (c *cohort) takeIdle() *base {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	if c.base == nil || len(c.base.turns) > 0 {
		return nil
	}
	if c.left() > 0 {
		c.arm()
		return nil
	}
	c.asking, c.releasing = true, true
	return c.retire()
}

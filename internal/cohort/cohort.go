package cohort

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/signal"
)

// cohort is all acquisitions of one side of a lock that ask for the same.
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
	ref *lock.Ref
	key key
	set *Set

	mu        sync.Mutex
	dead      bool          // it has left its set
	asking    bool          // a turn asks for a base, or the timer releases one as if a turn asked
	releasing chan struct{} // closed when the release of the last base is answered; nil if none is under way
	base      *base         // on which turns may begin, or nil
	line      []*turn       // in the order of their arrival
	block     int64         // how many tokens the next base takes

	idle  *time.Timer // when it fires, a base that nobody wants is to be released
	armed bool        // it runs
	since time.Time   // when the last turn of the base ended
}

// key is what all turns of a cohort have in common.
type key struct {
	lock lock.Key
	read bool
	opts lock.Options // without the wait
	stay time.Duration
}

// Set are the cohorts of a client. The zero value has none.
type Set struct {
	waiting atomic.Int64

	mu  sync.Mutex
	all map[key]*cohort
}

// Waiting is how many goroutines stand in line.
func (s *Set) Waiting() int { return int(s.waiting.Load()) }

// of returns the cohort for an acquisition.
func (s *Set) of(r *lock.Ref, opts *lock.Options, stay time.Duration) *cohort {
	k := key{*r.Key(), r.Read(), *opts, stay}
	k.opts.Wait = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.all[k]
	if c == nil {
		c = &cohort{ref: r, key: k, set: s, block: fewestTokens}
		if s.all == nil {
			s.all = make(map[key]*cohort)
		}
		s.all[k] = c
	}
	return c
}

// forget forgets a cohort that is dead.
func (s *Set) forget(c *cohort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c.key)
}

const (
	// fewestTokens and mostTokens bound the block of tokens that a base takes at once. The block
	// is twice what the base before has used.
	fewestTokens = 16
	mostTokens   = 1 << 16
)

// entry is what becomes of a turn that enters.
type entry int

const (
	again   entry = iota // the cohort is dead, and there is another one
	in                   // the turn is held
	asks                 // it asks for a base
	waits                // it stands in line
	refused              // it does not wait, and another turn is held
	looks                // it does not wait, and looks again when a release has been answered
	alone                // it does not wait, and asks Redis without the cohort
)

// enter lets a turn in at once, makes it ask for a base, or puts it in line if it waits.
func (c *cohort) enter(t *turn, wait bool) entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch first := len(c.line) == 0 && !c.asking; {
	case c.dead:
		return again
	case first && c.letIn(t):
		return in
	case first && c.mayAsk():
		c.ask(t)
		return asks
	case wait:
		t.told = make(chan struct{}, 1)
		c.line = append(c.line, t)
		c.set.waiting.Add(1)
		return waits
	case c.releasing != nil && t.looked == nil:
		t.looked = c.releasing
		return looks
	case !c.asking && !c.key.read:
		return refused
	}
	return alone
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
		c.releasing = make(chan struct{})
		t.releases, t.looked = b, c.releasing
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
	for len(c.line) > 0 && !c.asking && c.letIn(c.line[0]) {
		signal.Send(c.next().told)
	}
	switch {
	case c.asking:
	case len(c.line) > 0:
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
	t := c.line[0]
	c.line[0] = nil
	c.line = c.line[1:]
	c.set.waiting.Add(-1)
	return t
}

// leave takes out a turn that is in line and does not wait any more. It reports false if the turn
// has been let in, or is to ask for a base.
func (c *cohort) leave(t *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.line, t)
	if i < 0 {
		return false
	}
	c.line = slices.Delete(c.line, i, i+1)
	c.set.waiting.Add(-1)
	return true
}

// released notes that the release of a base was answered. Another one may be under way by then.
func (c *cohort) released(its chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(its)
	if c.releasing == its {
		c.releasing = nil
	}
}

// asked notes what the turn that asked has got: a base, or nil. That turn is let in first.
func (c *cohort) asked(t *turn, b *base) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = false
	if b != nil && b.hold.Join(b) == nil {
		c.base = b
		now := time.Now()
		b.begin(t, now)
		for c.key.read && len(c.line) > 0 { // however long the answer took
			b.begin(c.line[0], now)
			signal.Send(c.next().told)
		}
		b.recall(b.hold.RecallErr())
	}
	c.advance()
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
	if b, its := c.takeIdle(); b != nil {
		defer c.asked(nil, nil)
		defer c.released(its)
		_ = b.release()
	}
}

// takeIdle takes the base away if nobody has wanted it for long enough.
func (c *cohort) takeIdle() (b *base, its chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	if c.base == nil || len(c.base.turns) > 0 {
		return nil, nil
	}
	if c.left() > 0 {
		c.arm()
		return nil, nil
	}
	c.asking, c.releasing = true, make(chan struct{})
	return c.retire(), c.releasing
}

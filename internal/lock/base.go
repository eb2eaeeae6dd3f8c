package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
)

// base is the hold in Redis below the turns of a cohort. Turns are the goroutines' own holds. A base
// has one turn after another, or for readers several at a time. The cohort's mutex guards it.
type base struct {
	cohort   *cohort
	hold     *Hold
	until    time.Time     // when the last turn may begin
	linger   time.Duration // for how long it is kept when nobody wants it
	turns    []*turn       // that are held
	detached bool          // Redis is not told of its end

	first, used, block int64 // the first token, how many were given out, how many there are
}

// longestLinger and shortestLinger bound how long a base that nobody wants is kept. It is kept for
// about as long as it took to get. A caller that comes within that time saves as much.
const (
	longestLinger  = 10 * time.Millisecond
	shortestLinger = time.Millisecond
)

// newBase makes a base of a hold that has taken a block of tokens.
func newBase(c *cohort, hold *Hold, block int64) *base {
	term := hold.grant().Term()
	b := &base{
		cohort: c, hold: hold,
		until:  hold.since.Add(hold.opts.Cohort),
		linger: min(max(hold.since.Sub(term.Asked), shortestLinger), longestLinger),
		first:  hold.grant().firstToken(block), block: block,
	}
	if confirmed := renew.Trust(term.Asked, hold.opts.Lease); hold.opts.Replicas > 0 && confirmed.Before(b.until) {
		b.until = confirmed // replicas confirm the grant, not the renewals
	}
	return b
}

// open says that one more turn may begin. A base whose time is over is released.
func (b *base) open(now time.Time) bool {
	return now.Before(b.until) && (!b.hold.opts.Fenced || b.used < b.block) && !b.hold.grant().Term().Over(now)
}

// begin begins a turn.
func (b *base) begin(t *turn, now time.Time) {
	t.base, t.since, t.place = b, now, len(b.turns)
	if b.hold.opts.Fenced {
		t.token = b.first + b.used
		b.used++
	}
	b.turns = append(b.turns, t)
}

// end ends a turn as its holder wishes. If the turn had ended before, the error says why. With alone
// or detach no further turn begins. With detach Redis is not told of the end of the base either. The
// base is over when it has no turn left and none can begin. The caller then releases it.
func (b *base) end(t *turn, alone, detach bool) (over bool, err error) {
	c := b.cohort
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := t.Ended(); err != nil {
		return false, err
	}
	alone, b.detached = alone || detach, b.detached || detach
	t.End(lockerr.ErrReleased)
	last := len(b.turns) - 1
	b.turns[t.place] = b.turns[last]
	b.turns[t.place].place = t.place
	b.turns[last] = nil
	b.turns = b.turns[:last]
	if c.base != b {
		return last == 0, nil
	}
	if alone {
		c.retire()
	}
	c.advance()
	return alone && last == 0, nil
}

// MemberEnded ends all turns, because the hold has ended.
func (b *base) MemberEnded(_ *Hold, why error) {
	c := b.cohort
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range b.turns {
		t.End(why)
	}
	b.turns = nil
	if c.base == b {
		c.retire()
		c.advance()
	}
}

// release ends the hold. It may be called in the request slot of the hold's owner.
func (b *base) release(ctx context.Context, inSlot bool) (err error) {
	b.cohort.mu.Lock()
	silent := b.detached
	b.cohort.mu.Unlock()
	g := b.hold.grant()
	switch {
	case silent:
		g.detach(b.hold)
	case inSlot && g.manager.life.enterRelease():
		defer g.manager.life.leave()
		_, err = g.releaseInSlot(ctx, b.hold)
	default:
		_, err = g.release(context.WithoutCancel(ctx), b.hold)
	}
	if err != nil {
		g.manager.settings.Logger.Warn("redlatch: release of a cohort's hold failed", "lock", g.ref.Name, "owner", g.owner, "error", err)
	}
	return err
}

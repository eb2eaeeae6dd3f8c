package cohort

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// base is the hold in Redis below the turns of a cohort. It has one turn after another, or for readers
// several at a time. The cohort's mutex guards it.
type base struct {
	cohort   *cohort
	hold     *lock.Hold
	until    time.Time     // when the last turn may begin
	linger   time.Duration // for how long it is kept when nobody wants it
	turns    []*turn       // that are held
	detached bool          // Redis is not told of its end: its last turn was detached

	fenced             bool
	first, used, block int64 // the first token, how many were given out, how many there are
}

// longestLinger and shortestLinger bound how long a base that nobody wants is kept. It is kept for
// about as long as the request took that got it. A caller that comes within that time saves as much.
const (
	longestLinger  = 10 * time.Millisecond
	shortestLinger = time.Millisecond
)

// newBase makes a base of a hold that was just acquired.
func newBase(c *cohort, hold *lock.Hold, opts *lock.Options) *base {
	b := &base{
		cohort: c, hold: hold,
		until:  time.Now().Add(c.key.stay),
		linger: min(max(hold.Trip(), shortestLinger), longestLinger),
		fenced: opts.Fenced, first: hold.Token() - opts.Tokens + 1, block: opts.Tokens,
	}
	if confirmed := hold.Confirmed(); opts.Replicas > 0 && confirmed.Before(b.until) {
		b.until = confirmed // replicas confirm the grant, not the renewals
	}
	return b
}

// open says that one more turn may begin. A base whose time is over is released.
func (b *base) open(now time.Time) bool {
	return now.Before(b.until) && (!b.fenced || b.used < b.block) && b.hold.InTime()
}

// begin begins a turn.
func (b *base) begin(t *turn, now time.Time) {
	t.base, t.place = b, len(b.turns)
	var token int64
	if b.fenced {
		token = b.first + b.used
		b.used++
	}
	t.Granted(token, now)
	b.turns = append(b.turns, t)
}

// end ends a turn as its holder wishes. If the turn had ended before, the error says why. With final
// no further turn begins. The base is over when it has no turn left and none can begin. The caller
// then releases it.
func (b *base) end(t *turn, final, detach bool) (over bool, err error) {
	c := b.cohort
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := t.Ended(); err != nil {
		return false, err
	}
	b.detached = detach // of the last turn
	t.End(lockerr.ErrReleased)
	last := len(b.turns) - 1
	b.turns[t.place] = b.turns[last]
	b.turns[t.place].place = t.place
	b.turns[last] = nil
	b.turns = b.turns[:last]
	if c.base != b {
		return last == 0, nil
	}
	if final {
		c.retire()
	}
	c.advance()
	return final && last == 0, nil
}

// MemberEnded ends all turns, because the hold has ended.
func (b *base) MemberEnded(_ *lock.Hold, why error) {
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

// MemberRecalled tells all turns that the hold was recalled, and has no further turn begin.
func (b *base) MemberRecalled(_ *lock.Hold, why error) {
	b.cohort.mu.Lock()
	defer b.cohort.mu.Unlock()
	b.recall(why)
}

// recall is MemberRecalled with the cohort's mutex held. Without a reason it does nothing.
func (b *base) recall(why error) {
	if why == nil {
		return
	}
	b.until = time.Now()
	for _, t := range b.turns {
		t.Recall(why)
	}
	if c := b.cohort; c.base == b && c.armed {
		c.idle.Reset(0)
	}
}

// release ends the hold. Nobody can take that back, so no context bounds it but that of the client.
func (b *base) release() error {
	b.cohort.mu.Lock()
	silent := b.detached
	b.cohort.mu.Unlock()
	if silent {
		b.hold.Detach()
		return nil
	}
	err := b.hold.Unlock(context.Background())
	if err != nil {
		m := b.cohort.ref.Manager()
		m.Logger.Warn("redlatch: release of a cohort's hold failed", "lock", b.cohort.ref.Name, "owner", b.hold.Owner(), "error", err)
	}
	return err
}

package redlatch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// tenure is one owner's time on one lock, from its first hold to the end of its
// last. It is what Redis knows: one field with one count and one expiry. A tenure
// that has ended is never used again, so that what is still under way for it
// cannot touch a later one.
//
//	asking  ── granted ──▶  held  ── last hold released ──▶  ended (ErrReleased)
//	   │                     └───── expired, gone ─────────▶  ended (ErrLost)
//	   └── given up: ended without ever having been held
type tenure struct {
	renew.Item // its lease, in the client's renewal engine while held

	client *Client
	point  *point
	owner  string
	shared *owner // nil if no other acquisition can have this owner
	want   request
	parent context.Context // of the first hold

	// unsettled: a request was sent and its outcome is not known, so the lock may
	// stand in Redis. It belongs to whoever makes the attempt.
	unsettled bool

	// debt is closed when what was taken in vain has been given back; nil if nothing is
	// under way. It belongs to whoever makes the attempt.
	debt <-chan struct{}

	// abandoned is the debt of one whose waiter left while others asked for it.
	abandoned chan struct{}

	// standing: the last answer was no, and left a waiter in the queue in Redis.
	standing bool

	mu    sync.Mutex
	end   error   // nil until it ended
	holds []*Hold // those that are held, in the order of their acquisition
	top   int     // the highest count that Redis may have been told
	token int64   // 0 until a hold asked for one

	doubted bool // it was in doubt when its last hold was given back

	// Most tenures have one hold, which needs no memory of its own.
	first Hold
	one   [1]*Hold
}

func (c *Client) newTenure(ctx context.Context, p *point, name string, shared *owner, want request) *tenure {
	t := &tenure{client: c, point: p, owner: name, shared: shared, want: want, parent: ctx}
	t.Subject = t
	return t
}

// ended says whether the tenure is over, and ends it if its time is. One that is in doubt
// is not.
func (t *tenure) ended() bool {
	t.mu.Lock()
	end := t.end
	t.mu.Unlock()
	if end != nil {
		return true
	}
	term, now := t.Term(), time.Now()
	if !term.Over(now) || t.doubtful(term, now) {
		return false
	}
	t.expire()
	return true
}

// add makes one more hold of a tenure that Redis confirmed by a request that left
// at asked, or nil if the tenure has ended meanwhile. It is in the renewal engine
// before anybody else knows of it.
func (t *tenure) add(ctx context.Context, want request, asked, now time.Time, token int64) *Hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		return nil
	}
	h := &t.first
	if h.keeper != nil {
		h = new(Hold)
	}
	*h = Hold{keeper: t, parent: ctx, want: want, since: now, until: want.until(asked)}
	if t.holds == nil {
		t.holds = t.one[:0]
	}
	t.holds = append(t.holds, h)
	t.token = max(t.token, token)
	t.confirm(asked)
	return h
}

// extend takes note that Redis set the full lease by a request that left at asked.
func (t *tenure) extend(asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.confirm(asked)
	}
}

// confirm tells the engine of a new term. The mutex is held: a tenure that ends must
// not be put into the engine after it has been taken out.
func (t *tenure) confirm(asked time.Time) { t.client.engine.Set(&t.Item, t.term(asked)) }

// term is the term that begins at asked. The holds share one expiry, so the longest
// lease counts; it is renewed while any hold is.
func (t *tenure) term(asked time.Time) renew.Term {
	term := renew.Term{Asked: asked, Lease: longest(t.holds, 0), Until: latest(t.holds)}
	if slices.ContainsFunc(t.holds, func(h *Hold) bool { return !h.want.fixed }) {
		term.Every = t.client.config.every(term.Lease)
	}
	return term
}

func longest(holds []*Hold, least time.Duration) time.Duration {
	for _, h := range holds {
		least = max(least, h.want.lease)
	}
	return least
}

// latest is when the last of the holds ends; zero if one of them has no end, or there is
// none.
func latest(holds []*Hold) time.Time {
	var last time.Time
	for _, h := range holds {
		if h.until.IsZero() {
			return h.until
		}
		if h.until.After(last) {
			last = h.until
		}
	}
	return last
}

// bid is the request of a new tenure for its lock.
func (t *tenure) bid() errand { return t.raise(t.want) }

// raise is the request for one more hold.
func (t *tenure) raise(want request) errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := len(t.holds) + 1
	t.top = max(t.top, count)
	term := t.termWith(want)
	call := t.point.side.acquire(t.owner, count, span(term), t.want.wait != 0)
	if want.fenced && t.token == 0 {
		call = call.WithToken(protocol.TokenKey(t.point.name), t.client.config.TokenClock)
	}
	return t.errand(call, term)
}

// termWith is the term that a request for one more hold is to begin.
func (t *tenure) termWith(want request) renew.Term {
	term := t.term(time.Time{})
	term.Lease = max(term.Lease, want.lease)
	if !want.fixed {
		term.Every = t.client.config.every(term.Lease)
	}
	switch {
	case want.most == 0:
		term.Until = time.Time{}
	case len(t.holds) == 0 || !term.Until.IsZero():
		if until := want.until(time.Now()); until.After(term.Until) {
			term.Until = until
		}
	}
	return term
}

// span is the lease that a request sets which leaves now. It is never zero, which would
// free the lock.
func span(term renew.Term) time.Duration {
	if term.Until.IsZero() {
		return term.Lease
	}
	return max(term.Span(time.Now()), time.Millisecond)
}

// lower is the request after which as many holds are left as there are.
func (t *tenure) lower() errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	term := t.term(time.Time{})
	return t.errand(t.point.side.release(t.owner, t.top, len(t.holds), span(term)), term)
}

// renewal is the request that extends the lease.
func (t *tenure) renewal() script.Renewal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.point.side.renewal(t.owner, max(len(t.holds), 1), span(t.Term()))
}

// drop ends one hold, as its holder wishes, and returns how many remain. With the
// last one the tenure ends. It reports false, and the hold's error, if the hold had
// ended before.
func (t *tenure) drop(h *Hold) (remaining int, dropped bool, err error) {
	t.ended() // expire first, so that a late release is not taken for a good one
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.err != nil {
		return 0, false, h.err
	}
	t.holds = slices.DeleteFunc(t.holds, func(other *Hold) bool { return other == h })
	if len(t.holds) == 0 {
		t.end, t.doubted = ErrReleased, t.client.session != nil && t.Term().Over(time.Now())
	}
	h.finish(ErrReleased)
	return len(t.holds), true, nil
}

// leave takes an ended tenure out of everything that would act on it.
func (t *tenure) leave() {
	t.client.engine.Remove(&t.Item)
	if t.shared != nil {
		t.shared.vacate(t.point, t)
	}
}

// close ends the tenure with all its holds, as the holder wishes. It reports false
// if it had ended before.
func (t *tenure) close() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		return false
	}
	t.finish(ErrReleased)
	return true
}

// finish ends the tenure and its holds. The mutex is held.
func (t *tenure) finish(end error) {
	t.end = end
	for _, h := range t.holds {
		h.finish(end)
	}
	t.holds = nil
}

// expire ends a tenure whose deadline has passed.
func (t *tenure) expire() { t.Lost(renew.ErrExpired) }

// Lost ends the tenure with ErrLost. The renewal engine calls it; a second call
// does nothing.
func (t *tenure) Lost(why error) {
	t.mu.Lock()
	if t.end != nil {
		t.mu.Unlock()
		return
	}
	began := t.first.since
	err := fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrLost, why)
	t.client.losses.Add(1) // before anybody can learn of the loss and look at the count
	t.finish(err)
	t.mu.Unlock()

	t.leave()
	t.unprotect()
	c := t.client
	c.config.Logger.Warn("redlatch: hold lost", "lock", t.point.name, "owner", t.owner, "held", time.Since(began), "reason", why)
	c.observe(Lost, t.point, t.owner, began, err)
}

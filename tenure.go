package redlatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// tenure is one owner's time on one lock, from its first hold to the end of its
// last, on both sides of a read-write lock. It is what Redis knows: one owner with its
// counts and one expiry. A tenure that has ended is never used again, nor is its owner's
// name, so that what is still under way for it cannot touch a later one.
//
//	asking  ── granted ──▶  held  ── last hold released ──▶  ended (ErrReleased)
//	   │                     └───── expired, gone ─────────▶  ended (ErrLost)
//	   └── given up: ended without ever having been held
type tenure struct {
	renew.Item // its lease, in the client's renewal engine while held

	client *Client
	point  *point
	owner  string
	shared *owner        // nil if no other acquisition can have this owner
	turn   chan struct{} // of a shared owner's requests; capacity one, taken by putting in
	want   request
	parent context.Context   // of the first hold
	waiter *waitqueue.Waiter // nil if it never waited

	// unsettled: a request was sent and its outcome is not known, so the lock may
	// stand in Redis. It belongs to whoever makes the attempt.
	unsettled bool

	// standing: the last answer was no, and left a waiter in the queue in Redis.
	standing bool

	// returned tells a waiter that left while others asked for it whether nothing is left
	// of that.
	returned chan bool

	mu    sync.Mutex
	end   error   // nil until it ended
	holds []*Hold // those that are held, in the order of their acquisition
	top   int     // the highest count of read holds that Redis may have been told
	token int64   // 0 until a hold asked for one
	over  bool    // the release of the write side was not answered, and read holds remain

	doubted bool // it was in doubt when its last hold was given back

	// Most tenures have one hold, which needs no memory of its own.
	first Hold
	one   [1]*Hold
}

func (c *Client) newTenure(ctx context.Context, p *point, shared *owner, want request) *tenure {
	t := &tenure{client: c, point: p, owner: c.nextOwner(), shared: shared, want: want, parent: ctx}
	t.Subject = t
	return t
}

// ended says whether the tenure is over, and ends it if its time is. One that is in doubt
// is not, nor is one that is only asked for.
func (t *tenure) ended() bool {
	t.mu.Lock()
	end, asking := t.end, len(t.holds) == 0
	t.mu.Unlock()
	if end != nil || asking {
		return end != nil
	}
	now := time.Now() // before the term, which may be confirmed anew meanwhile
	if term := t.Term(); !term.Over(now) || t.doubtful(term, now) {
		return false
	}
	t.Lost(renew.ErrExpired)
	return true
}

// held is how many holds there are: none before the tenure is granted, and after it has ended.
func (t *tenure) held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holds)
}

// counts are the holds of each side. The mutex is held.
func (t *tenure) counts() (n script.Counts) {
	for _, h := range t.holds {
		if h.read {
			n.Reads++
		} else {
			n.Writes++
		}
	}
	return n
}

// reads says that the tenure has read holds and no other.
func (t *tenure) reads() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.holds) > 0 && t.counts().Writes == 0
}

// add makes one more hold of a tenure that Redis confirmed by a request that left
// at asked and asked for a lease of span, or nil if the tenure has ended meanwhile. It is in
// the renewal engine before anybody else knows of it.
func (t *tenure) add(ctx context.Context, read bool, want request, asked time.Time, span time.Duration, token int64) *Hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end != nil {
		return nil
	}
	h := &t.first
	if h.keeper != nil {
		h = new(Hold)
	}
	*h = Hold{keeper: t, parent: ctx, read: read, want: want, since: time.Now(), until: want.until(asked)}
	if t.holds == nil {
		t.holds = t.one[:0]
	}
	t.holds = append(t.holds, h)
	t.token = max(t.token, token)
	t.confirm(asked, span)
	return h
}

// extend takes note that Redis confirmed a request that left at asked and asked for a lease of
// span.
func (t *tenure) extend(asked time.Time, span time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end == nil {
		t.confirm(asked, span)
	}
}

// confirm tells the engine. The mutex is held: a tenure that ends must not be put into the
// engine after it has been taken out.
func (t *tenure) confirm(asked time.Time, span time.Duration) {
	term := t.term()
	term.Asked, term.Trusted = asked, renew.Trust(asked, span)
	t.client.engine.Set(&t.Item, term)
}

// replan tells the engine how the lease is renewed from now on. The mutex is held.
func (t *tenure) replan() { t.client.engine.Set(&t.Item, t.term()) }

// term is how the lease is renewed: by the longest lease among the holds that are renewed, for
// as long as there is one. A fixed lease is not made longer by that. It ends with the last of
// the holds, and not at all if one of them has no end.
func (t *tenure) term() renew.Term {
	var term renew.Term
	for _, h := range t.holds {
		term = t.client.with(term, h.want, h.until)
	}
	return term
}

// with is a term that serves one more hold, which ends at until.
func (c *Client) with(term renew.Term, want request, until time.Time) renew.Term {
	if first := term.Lease == 0; first || !term.Until.IsZero() && (until.IsZero() || until.After(term.Until)) {
		term.Until = until
	}
	switch renewed := term.Every > 0; {
	case want.fixed && renewed:
	case want.fixed == !renewed:
		term.Lease = max(term.Lease, want.lease)
	default:
		term.Lease = want.lease
	}
	if !want.fixed {
		term.Every = c.config.every(term.Lease)
	}
	return term
}

// bid is the request of a new tenure for its lock.
func (t *tenure) bid() errand { return t.raise(t.point.read, t.want) }

// raise is the request for one more hold.
func (t *tenure) raise(read bool, want request) errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts()
	if read {
		counts.Reads++
		t.top = max(t.top, counts.Reads)
	} else {
		counts.Writes++
	}
	term := t.client.with(t.term(), want, want.until(time.Now()))
	lease := want.lease
	if want.most > 0 {
		lease = min(lease, want.most)
	}
	call := t.point.kind.acquire(t.owner, counts, lease, t.want.wait != 0)
	if want.fenced && t.token == 0 {
		call = call.WithToken(protocol.TokenKey(t.point.name), t.client.config.TokenClock)
	}
	return t.errand(call, lease, term, counts, read)
}

// span is the lease that a request asks for which leaves now. It is never zero, which would
// free the lock.
func span(term renew.Term) time.Duration {
	return max(term.Span(time.Now()), time.Millisecond)
}

// lower is the request after which as many holds are left as there are, of which one of that
// side has ended.
func (t *tenure) lower(read bool) errand {
	t.mu.Lock()
	defer t.mu.Unlock()
	term, counts := t.term(), t.counts()
	var lease time.Duration // of what remains
	if len(t.holds) > 0 {
		lease = span(term)
	}
	return t.errand(t.point.kind.release(t.owner, t.top, counts, lease), lease, term, counts, read)
}

// freeing is the request that gives everything back. The session is told nothing: it ends.
func (t *tenure) freeing() script.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.point.kind.release(t.owner, t.top, script.Counts{}, t.client.config.LeaseTime)
}

// renewal is the request that extends the lease.
func (t *tenure) renewal(term renew.Term) script.Renewal {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.point.kind.renewal(t.owner, t.counts(), t.over, span(term))
}

// drop ends one hold, as its holder wishes, and returns how many remain. With the
// last one the tenure ends, and also if the time of all that remain is over, which then are
// lost. The error is that of a hold that had ended before.
func (t *tenure) drop(h *Hold) (remaining int, err error) {
	t.ended() // expire first, so that a late release is not taken for a good one
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.err != nil {
		return 0, h.err
	}
	t.holds = slices.DeleteFunc(t.holds, func(other *Hold) bool { return other == h })
	over := t.term().Until
	switch {
	case len(t.holds) == 0:
		t.end, t.doubted = ErrReleased, t.client.session != nil && t.Term().Over(time.Now())
	case !over.IsZero() && !time.Now().Before(over):
		t.lose(renew.ErrExpired)
	default:
		t.replan()
	}
	h.finish(ErrReleased)
	return len(t.holds), nil
}

// owe takes note that the release of a hold of that side was not answered. What Redis may not
// know of the end of the write side, the next renewal tells it.
func (t *tenure) owe(read bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = t.over || !read && t.counts().Writes == 0
}

// leave takes an ended tenure out of everything that would act on it.
func (t *tenure) leave() {
	t.client.engine.Remove(&t.Item)
	if t.shared != nil {
		t.shared.drop(t)
	}
}

// cancel ends a tenure that was not granted. What may still be granted to it goes back, and what
// was granted meanwhile goes back by itself.
func (t *tenure) cancel() {
	t.mu.Lock()
	if len(t.holds) == 0 && t.end == nil {
		t.end = errNotHeld
	}
	t.mu.Unlock()
	t.shared.drop(t)
}

var errNotHeld = errors.New("it never was held")

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

// Lost ends the tenure with ErrLost. The renewal engine calls it; a second call
// does nothing.
func (t *tenure) Lost(why error) {
	t.mu.Lock()
	if t.end != nil {
		t.mu.Unlock()
		return
	}
	t.lose(why)
	t.mu.Unlock()

	t.leave()
	t.unprotect()
	t.client.hub.Wake(t.point.queue, t.waiter)
}

// lose ends the tenure with ErrLost. The mutex is held.
func (t *tenure) lose(why error) {
	c, held := t.client, time.Since(t.first.since)
	err := fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrLost, why)
	c.losses.Add(1) // before anybody can learn of the loss and look at the count
	t.finish(err)
	c.reporter.add(func() {
		c.config.Logger.Warn("redlatch: hold lost", "lock", t.point.name, "owner", t.owner, "held", held, "reason", why)
		c.observe(Lost, t.point, t.owner, held, err)
	})
}

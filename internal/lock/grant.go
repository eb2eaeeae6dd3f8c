package lock

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// Grant is one owner's time on one lock, from its first hold to the end of its last, on both
// sides of a read-write lock. It is what Redis knows: one owner with its counts and one expiry.
// A grant that has ended is never used again, nor is its owner's name. So what is still under
// way for it cannot touch a later one.
//
//	attempt ── granted ──▶  held  ── last hold released ──▶  ended (ErrReleased)
//	   │                     └───── expired, gone ─────────▶  ended (ErrLost)
//	   └── cancelled: ended without ever having been held
type Grant struct {
	renew.Item // its lease, in the manager's renewal engine while it is held

	manager     *Manager
	ref         *Ref
	owner       string
	shared      *owner        // nil if no other acquisition can have this owner
	requestSlot chan struct{} // of a shared owner's requests; capacity one, taken by putting in
	attempt     attempt       // to acquire it

	mu         sync.Mutex
	ended      error     // why; nil until then
	holds      []*Hold   // those that are held, in the order of their acquisition
	maxReads   int       // the highest count of read holds that Redis may have been told
	token      int64     // 0 until a hold asked for one
	writeEnded bool      // a release that left only read holds was not answered
	minHoldEnd time.Time // the lock is not to be free before; zero: no limit
	toldEnd    int       // how many requests were made which say that it has ended
	toldReads  bool      // a request was made which says that it has read holds and no other
	gone       bool      // Redis has said that it has nothing of it
	left       bool      // its last hold was detached, so the lock is to stay
	unsure     time.Time // up to which Redis may keep the lock by requests of which this process cannot tell
	recall     error     // who asks for it, nil until a renewal has found that

	longest time.Duration // the longest lease that was asked for
	joining time.Duration // the limit (Options.Longest) of a further hold that is being asked for; 0: none

	// Guarded by the mutex of the manager's holders.
	entered, writes bool
	earlier, later  *Grant

	ends      atomic.Int64 // how many holds have been released or detached
	confirmed atomic.Int64 // how many of these ends Redis knows of
	looks     atomic.Int64 // how often look was called since it began to ask; 0: nothing is under way

	note atomic.Pointer[string] // what its first hold with a note says; nil without one

	// Most grants have one hold, which needs no memory of its own.
	first Hold
	one   [1]*Hold
}

// newGrant makes a grant that is not held yet.
func (m *Manager) newGrant(r *Ref, shared *owner, a attempt) *Grant {
	g := &Grant{manager: m, ref: r, owner: r.nextOwner(), shared: shared, attempt: a, longest: a.opts.firstLease()}
	g.Subject, g.attempt.Grant = g, g
	return g
}

// Shard names the server that has the lock. Permits are renewed by a script of their own: they count
// as on another server.
func (g *Grant) Shard() string {
	shard := g.manager.Shard(g.ref.Lock)
	if g.ref.permits {
		shard += " permits"
	}
	return shard
}

// Expire says whether the grant has ended, and ends it if its time is over. A grant that is
// unconfirmed has not ended, nor has one that is only asked for.
func (g *Grant) Expire() bool {
	return g.lostIf(renew.ErrExpired, func() bool { return len(g.holds) > 0 && g.overdue() })
}

// overdue says that the time of the grant is over. It is not if the renewal engine finds out what a deadline that has
// passed means: the process may have been paused, and a watchdog have renewed the lock meanwhile.
func (g *Grant) overdue() bool {
	now := time.Now() // before the term, which may be confirmed anew meanwhile
	term, s := g.Term(), g.manager.session
	return term.Over(now) && (s == nil || g.ref.permits || !term.MayGoOn(now) || !s.Guarded())
}

// held is how many holds there are: none before the grant, and none after its end.
func (g *Grant) held() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.holds)
}

// released says that the grant ended as its holder wished.
func (g *Grant) released() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended == lockerr.ErrReleased
}

// heldSince says that the oldest hold that is left was there at a moment.
func (g *Grant) heldSince(at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.holds) > 0 && !g.holds[0].since.After(at)
}

// mayLast asks for a lease, for a hold with a limit (Options.Longest; 0: none) or for one that is there. The error says that the
// lease is too long for another hold, or that one that was ever asked for is too long for this hold: its answer may be late.
func (g *Grant) mayLast(lease, limit time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	tooLong := func(limit time.Duration) bool { return limit > 0 && max(lease, g.longest) > limit }
	outlasts := limit > 0 && time.Until(g.Deadline()) > limit // a release may have asked for more than WithMaxHold allows
	if outlasts || tooLong(limit) || tooLong(g.joining) || slices.ContainsFunc(g.holds, func(h *Hold) bool { return tooLong(h.opts.Longest) }) {
		return &lockerr.ConfigError{Field: "lease", Reason: "a Quorum of the same owner allows no lease that is longer than Config.RestartDelay"}
	}
	g.longest = max(g.longest, lease)
	if limit > 0 {
		g.joining = limit
	}
	return nil
}

// reads says that the grant has read holds and no other.
func (g *Grant) reads() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.holds) > 0 && g.counts().Writes == 0
}

// counts are the holds of each side. The mutex is held.
func (g *Grant) counts() (n script.Counts) {
	for _, h := range g.holds {
		if h.read {
			n.Reads++
		} else {
			n.Writes++
		}
	}
	return n
}

// add makes one more hold of a grant that Redis confirmed. The hold is in the renewal engine before anybody else
// knows of it. add returns nil if the grant has ended meanwhile, if another one of this process holds the lock, or
// if a release may have taken back what Redis confirmed.
func (g *Grant) add(a acquisition, token int64) *Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil || a.ends != g.ends.Load() || !g.manager.holders.enter(g, a.read) {
		return nil
	}
	h := &g.first
	if h.backend != nil {
		h = new(Hold)
	}
	*h = Hold{backend: g, parent: a.ctx, read: a.read, forOthers: a.opts.ForOthers, opts: a.opts, since: time.Now(), until: a.opts.Until(a.asked), recalls: a.opts.Recalls}
	h.Recall(g.recall)
	if a.opts.Note != "" {
		g.note.CompareAndSwap(nil, &a.opts.Note)
	}
	if g.note.Load() != nil && a.lease > g.Term().Lease {
		g.look() // which tells Redis, and has the note last as long as the lock
	}
	if g.holds == nil {
		g.holds = g.one[:0]
	}
	g.holds = append(g.holds, h)
	g.token = max(g.token, token)
	if a.opts.Fenced {
		h.token = g.token
	}
	g.confirm(a.asked, a.lease)
	return h
}

// extend takes note that Redis confirmed a request that left at asked and asked for a lease.
func (g *Grant) extend(asked time.Time, lease time.Duration) {
	g.mu.Lock()
	held := g.ended == nil
	if held {
		g.confirm(asked, lease)
	}
	g.mu.Unlock()
	if !held {
		g.outlived(lease)
	}
}

// confirm tells the engine. The mutex is held: a grant that ends must not be put into the engine
// after it has been taken out.
func (g *Grant) confirm(asked time.Time, lease time.Duration) {
	term := g.term()
	term.Asked, term.Trusted, term.Kept = asked, renew.Trust(asked, lease), asked.Add(lease)
	if !g.manager.engine.Set(&g.Item, term) { // it is about to be lost
		g.mayLastUntil(term.Kept)
	}
	g.protect()
}

// replan tells the engine how the lease is renewed from now on. The mutex is held.
func (g *Grant) replan() {
	g.manager.engine.Set(&g.Item, g.term())
	g.protect()
}

// plan is how the lease is to be renewed, which the engine may not know yet.
func (g *Grant) plan() renew.Term {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.term()
}

// term is how the lease is renewed: by the longest lease among the holds that are renewed, for
// as long as there is one. A fixed lease is not made longer by that. It ends with the last of
// the holds, and not at all if one of them has no end. The mutex is held.
func (g *Grant) term() renew.Term {
	var term renew.Term
	for _, h := range g.holds {
		term = g.manager.with(term, h.opts, h.until)
	}
	return term
}

// with is a term that serves one more hold, which ends at until. A hold that is not renewed does not have others renewed
// beyond their own end.
func (m *Manager) with(term renew.Term, opts *Options, until time.Time) renew.Term {
	latest := func(end time.Time, first bool) time.Time {
		if first || !end.IsZero() && (until.IsZero() || until.After(end)) {
			return until
		}
		return end
	}
	term.Until = latest(term.Until, term.Lease == 0)
	if !opts.Fixed {
		term.Stop = latest(term.Stop, term.Every == 0)
	}
	switch renewed := term.Every > 0; {
	case opts.Fixed && renewed:
	case opts.Fixed == !renewed:
		term.Lease = max(term.Lease, opts.Lease)
	default:
		term.Lease = opts.Lease
	}
	if !opts.Fixed {
		term.Every = m.Every(term.Lease)
	}
	return term
}

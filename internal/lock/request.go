package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// request is a request of a grant to Redis: one call, or two for a release in two commands. If the
// grant is protected, the client's session is told along with it: of an entry before the request, of
// an entry's end behind it. A request that was made is sent.
type request struct {
	calls [3]script.Call // in the order in which they are sent
	n     int            // how many they are
	own   int            // which of them is the grant's own
	two   bool           // and so is the one behind it
	told  int            // which of them tells the session, -1 for none
	lease time.Duration  // that it asks for
	entry string         // the key of the session's entry that it is told about
	aside bool           // nobody waits for the server of the session, unless that has the lock as well
}

// acquireRequest asks for the first hold.
func (g *Grant) acquireRequest(r *request) { g.moreRequest(r, g.ref.read, g.attempt.opts, "") }

// moreRequest asks for one more hold, or for that of another owner.
func (g *Grant) moreRequest(r *request, read bool, opts *Options, from string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := g.counts()
	if read {
		counts.Reads++
		g.maxReads = max(g.maxReads, counts.Reads)
	} else {
		counts.Writes++
	}
	lease := max(opts.Lease, opts.MinHold)
	if opts.MaxHold > 0 {
		lease = min(lease, opts.MaxHold)
	}
	if from != "" {
		r.is(g.ref.Calls().Move(from, g.owner, read, lease), lease)
	} else {
		r.is(g.ref.Calls().Acquire(g.owner, counts, lease, g.attempt.opts.Wait != 0), lease)
	}
	if opts.Fenced && g.token == 0 && from == "" {
		s := &g.manager.Settings
		tokens := script.Tokens{Clock: s.TokenClock, Keep: s.TokenKeep, Count: opts.Tokens}
		r.calls[0] = r.calls[0].WithTokens(protocol.TokenKey(g.ref.Lock), tokens)
	}
	if g.manager.session != nil {
		g.protect(r, g.manager.with(g.term(), opts, opts.Until(time.Now())), counts, read)
	}
}

// renewal is one renewal of the lease, to be sent with others.
func (g *Grant) renewal(term renew.Term) script.Renewal {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.ref.Calls().Renewal(g.owner, g.counts(), g.writeEnded, remaining(term))
	r.Note, r.Knows = g.noted(), g.recall != nil
	return r
}

// renewCall renews the lease at once.
func (g *Grant) renewCall(term renew.Term) script.Call {
	return script.Renew([]script.Renewal{g.renewal(term)})
}

// remaining is the lease that a request asks for which leaves now. It is never zero, which would
// free the lock.
func remaining(term renew.Term) time.Duration {
	return max(term.Span(time.Now()), time.Millisecond)
}

// is makes it a request of one call that asks for a lease.
func (r *request) is(call script.Call, lease time.Duration) {
	r.calls[0], r.n, r.told, r.lease = call, 1, -1, lease
}

// protect joins to a request what the session is to be told of one side of the lock: that the owner
// has so many holds of it, one of which may only be wanted yet, or that it has none to be
// renewed. The mutex is held, so that a grant that ends is not entered after it has left.
func (g *Grant) protect(r *request, term renew.Term, counts script.Counts, read bool) {
	s := g.manager.session
	if s == nil || g.ref.permits || g.manager.Closing() { // the session ends as well
		return
	}
	entry := g.sessionEntry(term, counts, read)
	r.entry = entry.Key()
	if g.ended == nil && term.Every > 0 && entry.Count > 0 {
		if note, tell := s.Enter(r.entry, entry, len(g.holds) == 0); tell && !g.apart(r) {
			r.calls[0], r.calls[1] = note, r.calls[0]
			r.n, r.own, r.told = 2, 1, 0
		}
	} else if forget, tell := s.Leave(r.entry); tell && !g.apart(r) {
		r.calls[r.n], r.told = forget, r.n
		r.n++
	}
	if term.Every == 0 {
		s.Drop(g.sessionEntry(term, counts, !read).Key()) // it was renewed for the sake of this side
	}
}

// apart says that another server of a cluster has the session, and that nobody waits for it. A release does not, nor do
// the waiters to whom it hands the lock over: the session tells its server by itself. Any other acquisition waits for it: a
// pause right after it is covered.
func (g *Grant) apart(r *request) bool {
	m := g.manager
	apart := r.aside && m.sharded != nil && m.Shard(protocol.SessionKey(m.ID)) != m.Shard(g.ref.Lock)
	if apart {
		m.session.Answered(r.entry, script.Result{})
	}
	return apart
}

// sessionEntry is one side of the grant as the session speaks of it.
func (g *Grant) sessionEntry(term renew.Term, counts script.Counts, read bool) script.SessionEntry {
	entry := script.SessionEntry{
		Field: g.ref.Calls().Field(g.owner, read), Lock: g.ref.Lock, Read: read, Lease: term.Lease, Until: term.Until,
	}
	switch {
	case !read:
		entry.Count = min(counts.Writes, 1)
	case counts.Reads > 0:
		entry.Count = g.maxReads
	}
	return entry
}

// unprotect makes the session forget a grant that has ended without a request.
func (g *Grant) unprotect() {
	if s := g.manager.session; s != nil && !g.ref.permits {
		for _, read := range []bool{false, true} {
			s.Drop(g.sessionEntry(renew.Term{}, script.Counts{}, read).Key())
		}
	}
}

// send sends one request until it is answered. See script.Runner.
func (m *Manager) send(ctx context.Context, runner *script.Runner, r *request) (script.Result, error) {
	var result script.Result
	switch {
	case r.n == 1:
		result, _ = runner.Run(ctx, r.calls[0])
	case r.n == 2 && r.two:
		result = script.Freed(runner.RunTwo(ctx, r.calls[0], r.calls[1]))
	default:
		result = m.sendAll(ctx, runner, *r)[0]
	}
	if result.Failed() == nil {
		for _, call := range r.calls[:r.n] {
			runner.Done(call)
		}
	}
	return result, result.Failed()
}

// sendAll sends requests, in order and in one write, until each is answered. It returns one
// result for each.
func (m *Manager) sendAll(ctx context.Context, runner *script.Runner, requests ...request) []script.Result {
	calls := make([]script.Call, 0, len(requests[0].calls)*len(requests))
	for _, r := range requests {
		calls = append(calls, r.calls[:r.n]...)
	}
	all, _ := runner.RunAll(ctx, calls...) // each result says how it failed
	results := make([]script.Result, len(requests))
	for i, r := range requests {
		results[i] = all[r.own]
		if r.two {
			results[i] = script.Freed(all[r.own], all[r.own+1])
		}
		if r.told >= 0 {
			m.session.Answered(r.entry, all[r.told])
		}
		all = all[r.n:]
	}
	return results
}

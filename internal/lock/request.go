package lock

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// request is a request of a grant to Redis. If the grant is protected, the client's session is
// told along with it: of an entry before the request, of an entry's end behind it. A request that
// was made is sent.
type request struct {
	calls [2]script.Call // in the order in which they are sent
	n     int            // how many they are: one if the session is told nothing
	own   int            // which of them is the grant's own
	lease time.Duration  // that it asks for
	entry string         // the key of the session's entry that the other call is about
}

// acquireRequest asks for the first hold.
func (g *Grant) acquireRequest() request { return g.moreRequest(g.ref.read, g.attempt.opts) }

// moreRequest asks for one more hold.
func (g *Grant) moreRequest(read bool, opts Options) request {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := g.counts()
	if read {
		counts.Reads++
		g.maxReads = max(g.maxReads, counts.Reads)
	} else {
		counts.Writes++
	}
	term := g.manager.with(g.term(), opts, opts.Until(time.Now()))
	lease := opts.Lease
	if opts.MaxHold > 0 {
		lease = min(lease, opts.MaxHold)
	}
	call := g.ref.mode.Acquire(g.owner, counts, lease, g.attempt.opts.Wait != 0)
	if opts.Fenced && g.token == 0 {
		call = call.WithToken(protocol.TokenKey(g.ref.Name), g.manager.settings.TokenClock)
	}
	return g.request(call, lease, term, counts, read)
}

// releaseRequest leaves as many holds as there are, of which one of that side has ended.
func (g *Grant) releaseRequest(read bool) request {
	g.mu.Lock()
	defer g.mu.Unlock()
	term, counts := g.term(), g.counts()
	var lease time.Duration // of what remains
	if len(g.holds) > 0 {
		lease = remaining(term)
	}
	return g.request(g.ref.mode.Release(g.owner, g.maxReads, counts, lease), lease, term, counts, read)
}

// renewRequest renews the lease for the sake of a hold, and tells the session of its end.
func (g *Grant) renewRequest(term renew.Term, read bool) request {
	call := script.Renew([]script.Renewal{g.renewal(term)})
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.request(call, remaining(term), term, g.counts(), read)
}

// releaseCall releases everything. The session is told nothing: it ends.
func (g *Grant) releaseCall() script.Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ref.mode.Release(g.owner, g.maxReads, script.Counts{}, g.manager.settings.Lease)
}

// renewal is one renewal of the lease, to be sent with others.
func (g *Grant) renewal(term renew.Term) script.Renewal {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ref.mode.Renewal(g.owner, g.counts(), g.writeEnded, remaining(term))
}

// remaining is the lease that a request asks for which leaves now. It is never zero, which would
// free the lock.
func remaining(term renew.Term) time.Duration {
	return max(term.Span(time.Now()), time.Millisecond)
}

// request joins a call to what the session is to be told of one side of the lock: that the owner
// has so many holds of it, one of which may only be wanted yet, or that it has none to be
// renewed. The mutex is held, so that a grant that ends is not entered after it has left.
func (g *Grant) request(call script.Call, lease time.Duration, term renew.Term, counts script.Counts, read bool) request {
	r := request{calls: [2]script.Call{call}, n: 1, lease: lease}
	s := g.manager.session
	if s == nil {
		return r
	}
	entry := g.sessionEntry(term, counts, read)
	r.entry = entry.Key()
	if g.end == nil && term.Every > 0 && entry.Count > 0 {
		if note, tell := s.Enter(r.entry, entry); tell {
			r.calls, r.n, r.own = [2]script.Call{note, call}, 2, 1
		}
	} else if forget, tell := s.Leave(r.entry); tell {
		r.calls[1], r.n = forget, 2
	}
	if term.Every == 0 {
		s.Drop(g.sessionEntry(term, counts, !read).Key()) // it was renewed for the sake of this side
	}
	return r
}

// sessionEntry is one side of the grant as the session speaks of it.
func (g *Grant) sessionEntry(term renew.Term, counts script.Counts, read bool) script.SessionEntry {
	entry := script.SessionEntry{
		Field: g.ref.mode.Field(g.owner, read), Lock: g.ref.Name, Read: read, Lease: term.Lease, Until: term.Until,
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
	if s := g.manager.session; s != nil {
		for _, read := range []bool{false, true} {
			s.Drop(g.sessionEntry(renew.Term{}, script.Counts{}, read).Key())
		}
	}
}

// send sends one request until it is answered. See script.Runner.
func (m *Manager) send(ctx context.Context, runner *script.Runner, r request) (script.Result, error) {
	if r.n == 1 {
		return runner.Run(ctx, r.calls[0])
	}
	results, _ := m.sendAll(ctx, runner, r)
	return results[0], results[0].Failed()
}

// sendAll sends requests, in order and in one write, until each is answered. It returns one
// result for each.
func (m *Manager) sendAll(ctx context.Context, runner *script.Runner, requests ...request) ([]script.Result, error) {
	calls := make([]script.Call, 0, 2*len(requests))
	for _, r := range requests {
		calls = append(calls, r.calls[:r.n]...)
	}
	all, err := runner.RunAll(ctx, calls...)
	results := make([]script.Result, len(requests))
	for i, r := range requests {
		results[i] = all[r.own]
		if r.n == 2 {
			m.session.Answered(r.entry, all[1-r.own])
		}
		all = all[r.n:]
	}
	return results, err
}

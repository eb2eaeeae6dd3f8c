package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// errand is a request of a tenure and, where it is protected, what the client's session
// is told along with it: of an entry before the request, of its end behind it. One that
// was made is sent.
type errand struct {
	calls [2]script.Call // in the order in which they are sent
	n     int            // how many they are: one if the session is told nothing
	own   int            // which of them is the tenure's request
	span  time.Duration  // the lease that it asks for
	key   string         // of the session's entry that the other is about
}

// run sends one errand until it is answered. See script.Runner.
func (c *Client) run(ctx context.Context, runner *script.Runner, e errand) (script.Result, error) {
	if e.n == 1 {
		return runner.Run(ctx, e.calls[0])
	}
	results, _ := c.runAll(ctx, runner, e)
	return results[0], results[0].Failed()
}

// runAll sends errands, in order and in one write, until each is answered. It returns one
// result for each.
func (c *Client) runAll(ctx context.Context, runner *script.Runner, errands ...errand) ([]script.Result, error) {
	calls := make([]script.Call, 0, 2*len(errands))
	for _, e := range errands {
		calls = append(calls, e.calls[:e.n]...)
	}
	all, err := runner.RunAll(ctx, calls...)
	results := make([]script.Result, len(errands))
	for i, e := range errands {
		results[i] = all[e.own]
		if e.n == 2 {
			c.session.Answered(e.key, all[1-e.own])
		}
		all = all[e.n:]
	}
	return results, err
}

// errand is a call together with what the session is to be told of one side of the lock: that
// the owner has so many holds of it, one of which may only be wanted yet, or that it has none
// to be renewed. The mutex is held, so that a tenure that ends is not entered after it has
// been dropped.
func (t *tenure) errand(call script.Call, span time.Duration, term renew.Term, counts script.Counts, read bool) errand {
	e := errand{calls: [2]script.Call{call}, n: 1, span: span}
	s := t.client.session
	if s == nil {
		return e
	}
	entry := t.entry(term, counts, read)
	e.key = entry.Key()
	if t.end == nil && term.Every > 0 && entry.Count > 0 {
		if note, tell := s.Enter(e.key, entry); tell {
			e.calls, e.n, e.own = [2]script.Call{note, call}, 2, 1
		}
	} else if forget, tell := s.Leave(e.key); tell {
		e.calls[1], e.n = forget, 2
	}
	if term.Every == 0 {
		s.Drop(t.entry(term, counts, !read).Key()) // it was renewed for the sake of this side
	}
	return e
}

// entry is one side of the tenure as the session speaks of it.
func (t *tenure) entry(term renew.Term, counts script.Counts, read bool) script.SessionEntry {
	entry := script.SessionEntry{
		Field: t.point.kind.field(t.owner, read), Lock: t.point.name, Read: read, Lease: term.Lease, Until: term.Until,
	}
	switch {
	case !read:
		entry.Count = min(counts.Writes, 1)
	case counts.Reads > 0:
		entry.Count = t.top
	}
	return entry
}

// unprotect makes the session forget a tenure that has ended without an errand.
func (t *tenure) unprotect() {
	if s := t.client.session; s != nil {
		for _, read := range []bool{false, true} {
			s.Drop(t.entry(renew.Term{}, script.Counts{}, read).Key())
		}
	}
}

// doubtful says that the deadline of the tenure's term has passed and that the renewal
// engine, not whoever looks at the clock, finds out what that means: the process may have
// been paused, and a watchdog have renewed the lock meanwhile. The term is the one that was
// looked at before: after a pause it may be confirmed anew between two looks.
func (t *tenure) doubtful(term renew.Term, now time.Time) bool {
	s := t.client.session
	return s != nil && term.Every > 0 && term.Over(now) && s.Guarded()
}

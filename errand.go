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
	call  script.Call
	span  time.Duration // the lease that it asks for
	key   string        // of the session's entry; "" if the session is told nothing
	along script.Call
	leave bool // it goes behind
}

// run sends one errand until it is answered. See script.Runner.
func (c *Client) run(ctx context.Context, runner *script.Runner, e errand) (script.Result, error) {
	if e.key == "" {
		return runner.Run(ctx, e.call)
	}
	results, _ := c.runAll(ctx, runner, e)
	return results[0], results[0].Failed()
}

// runAll sends errands, in order and in one write, until each is answered. It returns one
// result for each.
func (c *Client) runAll(ctx context.Context, runner *script.Runner, errands ...errand) ([]script.Result, error) {
	calls := make([]script.Call, 0, 2*len(errands))
	for _, e := range errands {
		switch {
		case e.key == "":
			calls = append(calls, e.call)
		case e.leave:
			calls = append(calls, e.call, e.along)
		default:
			calls = append(calls, e.along, e.call)
		}
	}
	all, err := runner.RunAll(ctx, calls...)
	if len(all) == len(errands) {
		return all, err
	}
	results := make([]script.Result, len(errands))
	at := 0
	for i, e := range errands {
		switch {
		case e.key == "":
			results[i] = all[at]
			at++
			continue
		case e.leave:
			results[i] = all[at]
			c.session.Answered(e.key, all[at+1])
		default:
			c.session.Answered(e.key, all[at])
			results[i] = all[at+1]
		}
		at += 2
	}
	return results, err
}

// errand is a call together with what the session is to be told of one side of the lock: that
// the owner has so many holds of it, one of which may only be wanted yet, or that it has none
// to be renewed. The mutex is held, so that a tenure that ends is not entered after it has
// been dropped.
func (t *tenure) errand(call script.Call, span time.Duration, term renew.Term, counts script.Counts, read bool) errand {
	e := errand{call: call, span: span}
	s := t.client.session
	if s == nil {
		return e
	}
	entry := t.entry(term, counts, read)
	e.key = entry.Key()
	var tell bool
	if t.end == nil && term.Every > 0 && entry.Count > 0 {
		e.along, tell = s.Enter(e.key, entry)
	} else {
		e.leave = true
		e.along, tell = s.Leave(e.key)
	}
	if term.Every == 0 {
		s.Drop(t.entry(term, counts, !read).Key()) // it was renewed for the sake of this side
	}
	if !tell {
		e.key = ""
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

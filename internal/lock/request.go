package lock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// request is a request of a grant to Redis: one call, or two to end it: a release in two commands, or a release and
// the removal of its note. A request that was made is sent.
type request struct {
	calls [2]script.Call // in the order in which they are sent
	n     int            // how many they are
	two   bool           // both are the release
	lease time.Duration  // that it asks for
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
	g.toldReads = g.toldReads || counts.Writes == 0
	lease := opts.firstLease()
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
}

// renewal is one renewal of the lease, to be sent with others.
func (g *Grant) renewal(term renew.Term) script.Renewal {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil { // meanwhile
		term.Lease = time.Millisecond // which makes nothing longer
	}
	r := g.ref.Calls().Renewal(g.owner, g.counts(), g.writeEnded, remaining(term))
	r.Note, r.Knows = g.noted(), g.recall != nil
	return r
}

// renewCall renews the lease at once.
func (g *Grant) renewCall(term renew.Term) (call script.Call, lease time.Duration) {
	one := g.renewal(term)
	return script.Renew([]script.Renewal{one}), one.Lease
}

// remaining is the lease that a request asks for which leaves now. It is never zero, which would
// free the lock.
func remaining(term renew.Term) time.Duration { return max(term.Span(time.Now()), time.Millisecond) }

// unsure says that a request which came to an error may have been carried out.
func unsure(result *script.Result, err error) bool {
	_, refused := errors.AsType[*driver.ServerError](err)
	return err != nil && (!refused && !errors.Is(err, driver.ErrNotSent) || result.Repeated || script.IsUnknown(err))
}

// is makes it a request of one call that asks for a lease.
func (r *request) is(call script.Call, lease time.Duration) {
	r.calls[0], r.n, r.lease = call, 1, lease
}

// send sends one request until it is answered. See script.Runner.
func (m *Manager) send(ctx context.Context, runner *script.Runner, r *request) (script.Result, error) {
	var result script.Result
	switch {
	case r.n == 1:
		result, _ = runner.Run(ctx, r.calls[0])
	case r.two:
		result = script.Freed(runner.RunTwo(ctx, r.calls[0], r.calls[1]))
	default:
		result = m.sendAll(ctx, runner, *r)[0]
	}
	err := result.Failed()
	if err == nil {
		for _, call := range r.calls[:r.n] {
			runner.Done(call)
		}
	}
	m.heard(ctx, err)
	return result, err
}

// heard notes whether the server is silent. A request that its caller gave up says nothing, unless there was no connection.
func (m *Manager) heard(ctx context.Context, err error) {
	switch {
	case err == nil && m.silent.Load() != nil:
		m.silent.Store(nil)
	case err != nil && (ctx.Err() == nil || errors.Is(err, driver.ErrNoConnection)):
		now := time.Now()
		m.silent.Store(&now)
	}
}

// sendAll sends requests, in order and in one write, until each is answered. It returns one
// result for each.
func (m *Manager) sendAll(ctx context.Context, runner *script.Runner, requests ...request) []script.Result {
	calls := make([]script.Call, 0, len(requests[0].calls)*len(requests))
	for _, r := range requests {
		calls = append(calls, r.calls[:r.n]...)
	}
	all, err := runner.RunAll(ctx, calls...) // each result says how it failed
	m.heard(ctx, err)
	results := make([]script.Result, len(requests))
	for i, r := range requests {
		results[i] = all[0]
		if r.two {
			results[i] = script.Freed(all[0], all[1])
		}
		all = all[r.n:]
	}
	return results
}

package lock

import (
	"context"

	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// ready waits until a watchdog could find this client, if what is asked for is to be protected.
func (r *Ref) ready(ctx context.Context, opts *Options) error {
	if s := r.manager.session; s != nil && !opts.Fixed && !r.permits && !s.Ready(ctx) {
		return r.Closed()
	}
	return nil
}

// protect has the session say what is held of the grant, so that a watchdog renews it while this process is paused. It
// follows each change of the holds and of the term. The mutex is held.
func (g *Grant) protect() {
	if g.manager.session == nil || g.ref.permits || g.manager.Closing() { // the session ends as well
		return
	}
	g.protectSide(script.SessionEntry{Count: 1})
	if g.ref.key.lock.rw {
		g.protectSide(script.SessionEntry{Read: true, Count: g.maxReads})
	}
}

// protectSide leaves out the holds whose end is not known yet: a watchdog would renew the lock beyond that.
func (g *Grant) protectSide(e script.SessionEntry) {
	var term renew.Term
	for _, h := range g.holds {
		if h.read == e.Read && !h.opts.Open {
			term = g.manager.with(term, h.opts, h.until)
		}
	}
	e.Field, e.Lock, e.Lease, e.Until = g.ref.Calls().Field(g.owner, e.Read), g.ref.Lock, term.Lease, term.Stop
	if term.Every > 0 {
		g.manager.session.Enter(e)
	} else {
		g.manager.session.Leave(e.Key())
	}
}

package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/script"
)

// Acquire takes the lock as the context and the options ask for it, and tells the observer.
func (r *Ref) Acquire(ctx context.Context, opts Options) (*Hold, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	m := r.manager
	if m.settings.Observe == nil {
		return r.acquire(ctx, opts)
	}
	began := time.Now()
	h, err := r.acquire(ctx, opts)
	told := false
	defer func() {
		if !told && h != nil { // the observer panics, and nobody will have the hold
			_ = h.Unlock(ctx)
		}
	}()
	event := Event{Kind: EventNotAcquired, Lock: r.Name, Took: time.Since(began), Err: err}
	if err == nil {
		event.Kind, event.Owner = EventAcquired, h.Owner()
	}
	m.observe(ctx, event)
	told = true
	return h, err
}

// acquire takes the lock, and has replicas confirm it if that is asked for. What they do not
// confirm is released outside of the operation, because the observer of that may close the client.
func (r *Ref) acquire(ctx context.Context, opts Options) (*Hold, error) {
	h, err := r.confirmed(ctx, opts)
	if h != nil && err != nil {
		return nil, errors.Join(err, h.Unlock(ctx))
	}
	return h, err
}

// confirmed takes the lock. If there is a hold with an error, replicas have not confirmed it.
func (r *Ref) confirmed(ctx context.Context, opts Options) (*Hold, error) {
	m := r.manager
	if !m.life.enter() {
		return nil, r.lockError(lockerr.ErrClosed)
	}
	defer m.life.leave()
	if ctx.Err() != nil {
		return nil, r.notAcquired(ctx, outcome{})
	}
	h, err := r.acquireAs(ctx, opts)
	if err != nil || opts.Replicas == 0 {
		return h, err
	}
	return h, h.replicate(ctx, opts)
}

// acquireAs finds out which owner asks.
func (r *Ref) acquireAs(ctx context.Context, opts Options) (*Hold, error) {
	m := r.manager
	shared := m.ownerOf(ctx)
	if err := r.deadlock(ctx, shared); err != nil {
		return nil, err
	}
	limited := ctx
	if opts.Wait > 0 && opts.Wait != Forever {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, opts.Wait)
		defer cancel()
	}
	if m.session != nil && !opts.Fixed {
		m.session.Ready(limited)
	}
	if shared != nil {
		return r.acquireShared(ctx, limited, shared, opts)
	}
	return m.newGrant(r, nil, attempt{ctx: ctx, opts: opts}).attempt.run(limited)
}

// acquireShared takes the lock for an owner that may hold it already.
func (r *Ref) acquireShared(ctx, limited context.Context, shared *owner, opts Options) (*Hold, error) {
	for {
		g, made := shared.grant(r, func() *Grant { return r.manager.newGrant(r, shared, attempt{ctx: ctx, opts: opts}) })
		if !made {
			if err := g.takeTurn(ctx, limited, opts.Wait != 0); err != nil {
				return nil, err
			}
		}
		var h *Hold
		var err error
		ended := g.Expire()
		switch {
		case made:
			if h, err = g.attempt.run(limited); err != nil {
				g.endAttempt()
			}
		case !ended:
			h, err = g.reenter(ctx, limited, r, opts)
		}
		<-g.turn
		if !ended {
			return h, err
		}
	}
}

// maxHolds is the highest count that the scripts take for one.
const maxHolds = 65536

// reenter takes one more hold of a grant. A request whose outcome stays unknown needs no
// compensation: every later request of the owner sets the counts anew.
func (g *Grant) reenter(ctx, limited context.Context, r *Ref, opts Options) (*Hold, error) {
	switch n := g.held(); {
	case !r.read && g.reads():
		return nil, r.upgradeError()
	case n >= maxHolds:
		return nil, fmt.Errorf("redlatch: lock %q: %w: its owner has %d holds of it", r.Name, lockerr.ErrUnsupported, n)
	}
	request := g.moreRequest(r.read, opts)
	result, err := g.manager.send(limited, g.manager.runner, request)
	if err != nil {
		return nil, r.refusal(ctx, limited, outcome{err: err})
	}
	got, err := script.ReadAcquired(result.Reply)
	if err != nil {
		return nil, Failure("lock", r.Name, err)
	}
	if got.Granted {
		if h := g.add(acquisition{ctx, r.read, opts, result.Asked, request.lease}, got.Token); h != nil {
			return h, nil
		}
		// The deadline passed while the request was under way. The loss stands, and what this
		// request prolonged is released.
		g.manager.compensate(&g.attempt)
	}
	g.Lost(errOuterGone)
	return nil, r.lostError("lock", errOuterGone)
}

// acquisition is one confirmed request for a hold.
type acquisition struct {
	ctx   context.Context // of the caller
	read  bool
	opts  Options
	asked time.Time     // when the request left
	lease time.Duration // that it asked for
}

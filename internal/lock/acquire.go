package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/script"
)

// Acquire takes the lock, which is Usable, as the context and the options ask for it, and tells the observer. What replicas
// have not confirmed is released outside of the operation, because the observer of that may close the client.
func (r *Ref) Acquire(ctx context.Context, opts *Options) (*Hold, error) {
	began := time.Now()
	h, err := r.take(ctx, opts)
	if h != nil && err != nil {
		h, err = nil, errors.Join(err, h.Unlock(ctx))
	}
	if !opts.ForOthers {
		r.TellAcquired(ctx, h, began, err)
	}
	return h, err
}

// take takes the lock for the owner that asks. If there is a hold with an error, replicas have not
// confirmed it. It is small: a waiter's stack keeps its frame.
func (r *Ref) take(ctx context.Context, opts *Options) (*Hold, error) {
	if !r.manager.Enter() {
		return nil, r.lockError(lockerr.ErrClosed)
	}
	defer r.manager.Leave()
	limited, cancel := opts.Limit(ctx)
	if cancel != nil {
		defer cancel()
	}
	a, h, err := r.prepare(ctx, limited, opts)
	if a != nil {
		h, err = a.run(limited)
	}
	if h != nil && opts.Replicas > 0 {
		err = h.replicate(ctx, opts)
	}
	if h != nil && err == nil {
		h.begin(opts)
	}
	return h, err
}

// prepare finds out which owner asks, and returns its attempt. There is none if the caller has ended
// by then, or if the owner is one that other acquisitions share.
func (r *Ref) prepare(ctx, limited context.Context, opts *Options) (*attempt, *Hold, error) {
	m := r.manager
	if ctx.Err() != nil {
		return nil, nil, r.notAcquired(ctx, outcome{})
	}
	shared := m.ownerOf(ctx)
	if r.permits { // an owner may have several, and none of them is another's
		shared = nil
	} else if err := r.deadlock(ctx, shared); err != nil {
		return nil, nil, err
	}
	if err := r.ready(limited, opts); err != nil {
		return nil, nil, err
	}
	if shared != nil {
		h, err := r.acquireShared(ctx, limited, shared, opts)
		return nil, h, err
	}
	return &m.newGrant(r, nil, attempt{ctx: ctx, opts: opts}).attempt, nil, nil
}

// acquireShared takes the lock for an owner that may hold it already.
func (r *Ref) acquireShared(ctx, limited context.Context, shared *owner, opts *Options) (*Hold, error) {
	for {
		g, made := shared.grant(r, func() *Grant { return r.manager.newGrant(r, shared, attempt{ctx: ctx, opts: opts}) })
		if !made {
			if err := g.takeSlot(ctx, limited, opts.Wait != 0); err != nil {
				return nil, err
			}
		}
		var h *Hold
		var err error
		switch {
		case made:
			h, err = g.attempt.run(limited)
		case !g.Expire():
			h, err = g.reenter(ctx, limited, r, opts)
		}
		<-g.requestSlot
		if h != nil || err != nil {
			return h, err
		}
	}
}

// maxHolds is the highest count that the scripts take for one.
const maxHolds = 65536

// maxReadHolds is the highest count of an owner that asks for one more read hold. Redisson's layout has a
// key for each, and every request of the owner raises them all: a thousand cost the server a few
// milliseconds.
const maxReadHolds = 1024

// reenter takes one more hold of a grant. A request whose outcome stays unknown needs no
// compensation: every later request of the owner sets the counts anew. A release that could not wait for the request
// slot may overtake the request: then Redis is told what is left. It returns no hold and no error if the caller is to ask
// once more.
func (g *Grant) reenter(ctx, limited context.Context, r *Ref, opts *Options) (*Hold, error) {
	ends := g.ends.Load()
	switch n := g.held(); {
	case !r.read && g.reads():
		return nil, r.upgradeError()
	case n >= maxHolds || r.read && n >= maxReadHolds:
		return nil, fmt.Errorf("redlatch: lock %q: %w: its owner has %d holds of it", r.Name, lockerr.ErrUnsupported, n)
	}
	var request request
	g.moreRequest(&request, r.read, opts, "")
	if g.held() == 0 { // it has ended: the request may be one for a first hold
		return nil, nil
	}
	if err := g.mayLast(request.lease, opts.Longest); err != nil {
		return nil, err
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.joining = 0
	}()
	result, err := g.manager.send(limited, g.manager.runner, &request)
	if err != nil {
		if unsure(&result, err) {
			g.outlived(request.lease)
		}
		return nil, r.refusal(ctx, limited, outcome{err: err})
	}
	got, err := script.ReadAcquired(result.Reply)
	if unsure(&result, err) {
		g.outlived(request.lease)
	}
	if err != nil {
		return nil, Failure("lock", r.Name, err)
	}
	if got.Granted {
		if h := g.add(acquisition{ctx, r.read, opts, result.Asked, request.lease, ends}, got.Token); h != nil {
			return h, nil
		}
		g.outlived(request.lease)
	}
	switch over := g.Expire(); {
	case g.released(): // while the request was under way
		return nil, nil
	case over:
	case !got.Granted && ends == g.ends.Load():
		g.Lost(errOuterGone)
	case !g.manager.compensate(g): // which may arrive behind another request
		return nil, r.lockError(lockerr.ErrUnknownOutcome)
	default:
		return nil, nil
	}
	return nil, r.lostError("lock", errOuterGone)
}

// acquisition is one confirmed request for a hold.
type acquisition struct {
	ctx   context.Context // of the caller
	read  bool
	opts  *Options
	asked time.Time     // when the request left
	lease time.Duration // that it asked for
	ends  int64         // how many holds of the grant had ended before it was made
}

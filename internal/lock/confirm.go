package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// Confirm makes a renewed hold serve a whole, such as a Multi, until an end: one renewal asks for
// the lease of the whole, and replicas have to confirm that very renewal. A fixed lease is not
// renewed afterwards.
func (h *Hold) Confirm(ctx context.Context, whole Options, end time.Time) error {
	g := h.grant()
	if whole.Fixed {
		if err := g.mayLast(whole.Lease, 0); err != nil {
			return err
		}
	}
	g.mu.Lock()
	opts := *h.opts
	h.until, h.opts, opts.Open = end, &opts, false
	if whole.Fixed {
		opts.Lease = whole.Lease
	}
	g.mu.Unlock()
	var err error
	if whole.Replicas > 0 {
		err = h.replicate(ctx, &whole)
	} else {
		err = h.renew(ctx)
	}
	if err != nil {
		return err
	}
	if whole.Fixed {
		h.StopRenewal()
	}
	return h.Err()
}

// StopRenewal ends the renewal of the hold. The grant is renewed for as long as it has others
// that are.
func (h *Hold) StopRenewal() { h.change(func(o *Options) { o.Fixed = true }) }

// change changes what the hold asks for from now on.
func (h *Hold) change(change func(*Options)) {
	g := h.grant()
	g.mu.Lock()
	defer g.mu.Unlock()
	opts := *h.opts
	change(&opts)
	if h.opts = &opts; g.ended == nil {
		g.replan()
	}
}

// Renew renews the hold at once, and says why it is not held any more.
func (h *Hold) Renew(ctx context.Context) error {
	m := h.grant().manager
	if !m.EnterRelease() {
		return nil // Close releases it
	}
	defer m.Leave()
	return h.renew(ctx)
}

// renew renews the hold at once.
func (h *Hold) renew(ctx context.Context) error {
	g := h.grant()
	call, lease := g.renewCall(g.plan())
	result, err := g.manager.runner.Run(ctx, call)
	return h.renewed("lock", lease, result, Bare(err))
}

// replicate waits until as many replicas as asked for have the hold, and says why it must not be
// used otherwise. It ends when the manager closes.
//
// It renews the hold and asks for the replicas at once on one connection: a replica that has the
// renewal has everything that the server did before, the grant included. So it does not matter
// which connection took the hold, and repeating it changes nothing.
func (h *Hold) replicate(ctx context.Context, opts *Options) error {
	g := h.grant()
	life := g.manager.Life.Context
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	call, lease := g.renewCall(g.plan())
	within := opts.replicaTime(max(h.Trip(), 0))
	result, had, err := g.manager.runner.RunReplicated(limited, call.Writing(), opts.Replicas, within)
	if err != nil { // the renewal may have been carried out, and only the replicas not have been asked
		g.outlived(lease)
	}
	switch {
	case err != nil && ctx.Err() == nil && life.Err() != nil:
		return fmt.Errorf("redlatch: lock %q: %w: %w", g.ref.Name, lockerr.ErrNotReplicated, lockerr.ErrClosed)
	case err != nil:
		return lockerr.WithCause(fmt.Errorf("redlatch: lock %q: %w: %w", g.ref.Name, lockerr.ErrNotReplicated, Bare(err)), ctx)
	}
	err = h.renewed("lock", lease, result, nil)
	if had < opts.Replicas {
		return fmt.Errorf("redlatch: lock %q: %w: %d of %d replicas had it within %v", g.ref.Name, lockerr.ErrNotReplicated, had, opts.Replicas, within)
	}
	return err
}

// Confirmed is up to when replicas have the hold of a single lock that they confirmed, whatever was renewed meanwhile: they were
// asked behind a request for its lease that left after the grant.
func (h *Hold) Confirmed() time.Time { return renew.Trust(h.since, h.Lease()) }

// renewed takes the answer to a renewal for a lease that the engine did not send. The error says why the
// hold has ended, or that there was no answer.
func (h *Hold) renewed(verb string, lease time.Duration, result script.Result, err error) error {
	g := h.grant()
	answer := readRenewed(result, err, []*Grant{g})[0]
	switch {
	case answer.Err != nil:
		if unsure(&result, answer.Err) {
			g.outlived(lease)
		}
		return Failure(verb, g.ref.Name, answer.Err)
	case !answer.Held:
		g.Lost(renew.ErrGone)
	default:
		g.extend(result.Asked, lease) // which a repetition asks for, too
	}
	return h.Err()
}

// Extend makes a hold last for d from now, if that is longer than it lasts anyway. If the hold is renewed, it has
// that lease from then on.
func (h *Hold) Extend(ctx context.Context, d time.Duration) error {
	g, single := h.backend.(*Grant)
	if !single {
		return &lockerr.ConfigError{Field: "Extend", Reason: "it is for the hold of a single lock; other holds end with their whole"}
	}
	if err := h.Err(); err != nil {
		return err
	}
	if err := g.mayLast(d, 0); err != nil {
		return err
	}
	if !g.manager.EnterRelease() {
		return g.ref.lockError(lockerr.ErrClosed)
	}
	defer g.manager.Leave()
	g.mu.Lock()
	term := renew.Term{Lease: d, Until: h.until}
	g.mu.Unlock()
	call, lease := g.renewCall(term)
	result, err := g.manager.runner.Run(ctx, call)
	if err = h.renewed("extend", lease, result, err); err == nil {
		h.change(func(o *Options) {
			if !o.Fixed {
				o.Lease = max(o.Lease, d)
			}
		})
	}
	return err
}

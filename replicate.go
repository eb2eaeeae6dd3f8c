package redlatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// replicate waits until as many replicas as asked for have the hold, and says why it must
// not be used otherwise. It ends when the client closes.
//
// It renews the hold and asks for the replicas in one breath on one connection: a replica
// that has the renewal has everything that the server did before, the grant included.
// Whoever took the hold over its own connection is thus no matter, and repeating it
// changes nothing.
func (c *Client) replicate(ctx context.Context, h *Hold, want request) error {
	t := h.tenure()
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	term := t.plan()
	result, had, err := c.runner.RunReplicated(limited, script.Renew([]script.Renewal{t.renewal(term)}), want.replicas, want.confirm)
	switch {
	case err != nil && ctx.Err() == nil && c.life.Err() != nil:
		return fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrNotReplicated, ErrClosed)
	case err != nil:
		return withCause(fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrNotReplicated, bare(err)), ctx)
	}
	if err := t.renewed(term, result, nil); err != nil {
		return err
	}
	if had < want.replicas {
		return fmt.Errorf("redlatch: lock %q: %w: %d of %d replicas had it within %v", t.point.name, ErrNotReplicated, had, want.replicas, want.confirm)
	}
	return h.Err()
}

// confirms says that the members of a whole have to be renewed for it when all are there.
func (r request) confirms() bool { return r.fixed || r.most > 0 || r.replicas > 0 }

// confirm makes a renewed hold serve a whole until an end: one renewal asks for the lease of
// the whole, and replicas have to confirm that very renewal. A fixed lease is not renewed
// afterwards.
func (h *Hold) confirm(ctx context.Context, whole request, end time.Time) error {
	t := h.tenure()
	t.mu.Lock()
	h.until = end
	if whole.fixed {
		h.want.lease = whole.lease
	}
	t.mu.Unlock()
	var err error
	if whole.replicas == 0 || t.client.session != nil {
		err = t.client.prolong(ctx, h)
	}
	if err == nil && whole.replicas > 0 {
		err = t.client.replicate(ctx, h, whole)
	}
	if err != nil {
		return err
	}
	if whole.fixed {
		t.fix(h)
	}
	return h.Err()
}

// prolong renews a hold at once, and tells the session of its end.
func (c *Client) prolong(ctx context.Context, h *Hold) error {
	t := h.tenure()
	term := t.plan()
	call := script.Renew([]script.Renewal{t.renewal(term)})
	t.mu.Lock()
	request := t.errand(call, span(term), term, t.counts(), h.read)
	t.mu.Unlock()
	result, err := c.run(ctx, c.runner, request)
	return t.renewed(term, result, err)
}

// plan is how the lease is to be renewed, which the engine may not know yet.
func (t *tenure) plan() renew.Term {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.term()
}

// fix ends the renewal of a hold. The tenure is renewed for as long as it has others that
// are.
func (t *tenure) fix(h *Hold) {
	t.mu.Lock()
	h.want.fixed = true
	if t.end == nil {
		t.replan()
	}
	renewed := t.Term().Every > 0
	t.mu.Unlock()
	if !renewed {
		t.unprotect()
	}
}

// renewed takes the answer to a renewal by a term that the engine did not send.
func (t *tenure) renewed(term renew.Term, result script.Result, err error) error {
	if err == nil {
		err = result.Failed()
	}
	switch answer := readRenewed(result, err, 1)[0]; {
	case answer.Err != nil:
		return failure("lock", t.point.name, bare(answer.Err))
	case !answer.Held:
		t.Lost(renew.ErrGone)
		return fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrLost, renew.ErrGone)
	}
	t.extend(result.Asked, term.Span(result.Asked))
	return nil
}

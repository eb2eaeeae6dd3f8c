package product_test

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch"
)

// An operator asks for locks, and nothing happens but that their holders learn of it.

// ask asks those who have a lock for it.
func (w *world) ask(p *process, v *visit) {
	ctx, cancel := v.limited(w.ctx)
	defer cancel()
	c, began := p.clients[0], time.Now()
	kind := []what{mutex, fair, write}[int(v.Work)%3]
	name := kind.name(v.Name)
	l := map[what]interface {
		Status(ctx context.Context) (redlatch.Status, error)
		Recall(ctx context.Context, owner, reason string) (bool, error)
	}{mutex: c.Mutex(name), fair: c.FairMutex(name), write: c.RWMutex(name)}[kind]
	status, err := l.Status(ctx)
	for _, h := range status.Holders {
		w.mu.Lock()
		w.recalls[h.Owner] = true
		w.mu.Unlock()
		_, also := l.Recall(ctx, h.Owner, "")
		err = errors.Join(err, also)
	}
	w.plain(p, v, err, time.Since(began), ctx.Err())
}

// recalled checks what a holder has been told: nobody is asked for what another has.
func (w *world) recalled(one *call) {
	h := one.hold
	why := h.RecallErr()
	if why == nil {
		return
	}
	w.mu.Lock()
	asked := w.recalls[h.Owner()] || h.Owner() == "" && len(w.recalls) > 0
	w.mu.Unlock()
	if !asked || !errors.Is(why, redlatch.ErrRecalled) {
		w.fail("nobody has asked for it, and it is recalled: %w: %v", why, one.visit)
	}
	if one.has(recall) && h.Context().Err() == nil {
		w.fail("it is recalled, and its context goes on: %v", one.visit)
	}
}

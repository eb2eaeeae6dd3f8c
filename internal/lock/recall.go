package lock

import (
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// recall is what a hold knows of a recall, once somebody wants to know or there is one.
type recall struct {
	done chan struct{} // closed when it is recalled
	why  error         // *lockerr.RecalledError, nil until then
}

// reason is why it was recalled, nil if it was not.
func (r *recall) reason() error {
	if r == nil {
		return nil
	}
	return r.why
}

// Recalled is closed when somebody has asked for what is held.
func (h *Hold) Recalled() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recallable().done
}

// recallable is what the hold knows of a recall. The mutex is held.
func (h *Hold) recallable() *recall {
	if h.recall == nil {
		h.recall = &recall{done: make(chan struct{})}
	}
	return h.recall
}

// RecallErr says who asked, and why, and is nil if nobody did.
func (h *Hold) RecallErr() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recall.reason()
}

// EndWhenRecalled has the context of the hold end when it is recalled.
func (h *Hold) EndWhenRecalled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recalls = true
	if h.recall.reason() != nil && h.cancel != nil {
		h.cancel(h.recall.why)
	}
}

// Recall tells the holder that somebody has asked for what is held, once. Nil tells nothing.
func (h *Hold) Recall(why error) {
	if why == nil {
		return
	}
	h.mu.Lock()
	if h.err != nil || h.recall.reason() != nil {
		h.mu.Unlock()
		return
	}
	r := h.recallable()
	r.why = why
	close(r.done)
	if h.recalls && h.cancel != nil {
		h.cancel(why)
	}
	whole := h.whole
	h.mu.Unlock()
	if whole != nil {
		whole.MemberRecalled(h, why)
	}
}

// recalled tells the holder what a renewal has found beside the lock, if it is something new. Nil is the grant of a
// ticket, which nobody has.
func (g *Grant) recalled(text string) {
	if text == "" || g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.recall != nil || len(g.holds) == 0 {
		return
	}
	why := script.Recalled(g.ref.Name, text)
	g.recall = why
	for _, h := range g.holds {
		h.Recall(why)
	}
	g.look() // which says that it knows
	m, first := g.manager, &g.first
	e := first.event(g.ref, EventRecalled, time.Now())
	e.Err = why
	m.reporter.Add(func() {
		m.Logger.Info("redlatch: hold recalled", "lock", g.ref.Name, "owner", g.owner, "by", why.Author, "reason", why.Reason)
		m.observe(first.parent, e)
	})
}

// noted is what the owner says of its hold.
func (g *Grant) noted() string {
	if note := g.note.Load(); note != nil {
		return *note
	}
	return ""
}

// hasNote says that something stands beside the lock, or may: it is to go with the grant. The mutex is held.
func (g *Grant) hasNote() bool { return g.note.Load() != nil || g.recall != nil }

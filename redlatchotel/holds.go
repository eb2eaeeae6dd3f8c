package redlatchotel

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/redlatch/redlatch"
)

// holds knows the spans of the holds of this process. Events of one hold may arrive in any order: a
// loss is told by another goroutine than its acquisition.
//
//	acquired ──▶ live ── released, detached ──▶ ended
//	               └──── lost, closed (all of the owner) ──▶ ended, and over for later ones
type holds struct {
	mu     sync.Mutex
	live   map[holder][]hold
	ended  map[holder]ended  // of the last ones to end
	oldest [mostEnded]holder // the keys of ended, in a ring
	next   int               // the place in it of the next key
}

// holder is one owner of one lock.
type holder struct{ lock, owner string }

// hold is one acquisition.
type hold struct {
	since   time.Time
	kind    redlatch.LockKind
	span    trace.Span
	context trace.SpanContext // of the span, which is not asked while the mutex is held: it may be a user's, and hang
}

// ended is what remains of a holder without holds.
type ended struct {
	span trace.SpanContext // of its last hold
	over bool              // nothing that it has acquired lives any more,
	why  redlatch.Event    // because of this
}

// mostEnded bounds how many holders without holds are known. A waiter comes soon after the holder
// that it has waited for.
const mostEnded = 1024

// put adds the span of a hold. If the hold has ended already, put says why, and does not add it.
func (h *holds) put(e redlatch.Event, span trace.Span) (why redlatch.Event, over bool) {
	one := hold{e.Since, e.LockKind, span, span.SpanContext()}
	h.mu.Lock()
	defer h.mu.Unlock()
	key := holder{e.Lock, e.Owner}
	if past := h.ended[key]; past.over {
		return past.why, true
	}
	h.live[key] = append(h.live[key], one)
	return why, false
}

// take removes the span of one hold, and returns nil if there is none.
func (h *holds) take(e redlatch.Event) trace.Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := holder{e.Lock, e.Owner}
	all := h.live[key]
	i := slices.IndexFunc(all, func(one hold) bool { return one.since.Equal(e.Since) && one.kind == e.LockKind })
	if i < 0 {
		return nil
	}
	one := all[i]
	if all = slices.Delete(all, i, i+1); len(all) > 0 {
		h.live[key] = all
	} else {
		delete(h.live, key)
	}
	h.remember(key, ended{span: one.context})
	return one.span
}

// takeAll removes the spans of all holds of an owner, which acquires nothing any more.
func (h *holds) takeAll(e redlatch.Event) (spans []trace.Span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := holder{e.Lock, e.Owner}
	last := ended{span: h.ended[key].span, over: true, why: e}
	for _, one := range h.live[key] {
		spans = append(spans, one.span)
		last.span = one.context
	}
	delete(h.live, key)
	h.remember(key, last)
	return spans
}

// of are the spans of the holds of an owner.
func (h *holds) of(e redlatch.Event) (spans []trace.Span) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.live[holder{e.Lock, e.Owner}] {
		spans = append(spans, one.span)
	}
	return spans
}

// span is the last span of an owner, invalid if it is not known.
func (h *holds) span(lock, owner string) trace.SpanContext {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := holder{lock, owner}
	if all := h.live[key]; len(all) > 0 {
		return all[len(all)-1].context
	}
	return h.ended[key].span
}

// remember keeps what remains of a holder, and forgets the oldest one. The mutex is held.
func (h *holds) remember(key holder, what ended) {
	if _, known := h.ended[key]; !known {
		delete(h.ended, h.oldest[h.next])
		h.oldest[h.next] = key
		h.next = (h.next + 1) % mostEnded
	}
	h.ended[key] = what
}

package renew

import (
	"container/heap"
	"context"
	"math/bits"
	"slices"
	"time"
)

// passenger is an item that is to be renewed.
type passenger struct {
	it  *Item
	end time.Time // up to which it makes sense to ask for it
}

// abreast is how many requests for items of one urgency go side by side: batches one
// after another would be late where the server is far away.
const abreast = 8

// class is what the passengers of one flight have in common: their urgency, so that nobody
// shares the patience of those who have far less time, and the server.
type class struct {
	urgency int
	shard   string
}

func (p passenger) class(now time.Time) class {
	c := class{urgency: bits.Len64(uint64(patience(now, p.end) / time.Millisecond))}
	if subject, ok := p.it.Subject.(Sharded); ok {
		c.shard = subject.Shard()
	}
	return c
}

// flights divides what is due by class, and into a few that go side by side.
func flights(due []passenger, now time.Time) [][]passenger {
	classes := make(map[class][]passenger)
	for _, p := range due {
		class := p.class(now)
		classes[class] = append(classes[class], p)
	}
	var all [][]passenger
	for _, class := range classes {
		share := max(batchSize, (len(class)+abreast-1)/abreast)
		for part := range slices.Chunk(class, share) {
			all = append(all, part)
		}
	}
	return all
}

// fly renews items, batch by batch. When an attempt runs out of time the rest is not tried:
// what ails the server would cost each batch its whole patience.
func (e *Engine) fly(items []passenger) {
	for len(items) > 0 {
		n := min(batchSize, len(items))
		batch, renewals := e.board(items[:n])
		items = items[n:]
		if len(batch) == 0 {
			continue
		}
		answers, err := e.attempt(batch, renewals)
		e.land(batch, renewals, answers)
		if err != nil {
			e.failed(items)
			return
		}
	}
}

// board leaves out who was removed meanwhile.
func (e *Engine) board(items []passenger) (here []passenger, renewals []Renewal) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range items {
		if p.here() {
			term := p.it.Term()
			p.end = e.end(term, now)
			here = append(here, p)
			renewals = append(renewals, Renewal{p.it, term})
		}
	}
	return here, renewals
}

func (p passenger) here() bool { return p.it.place != 0 }

// attempt is one request, within the patience of the most pressing item. The error says that
// it ran out of time.
func (e *Engine) attempt(batch []passenger, renewals []Renewal) ([]Answer, error) {
	end := batch[0].end
	for _, p := range batch {
		if p.end.Before(end) {
			end = p.end
		}
	}
	ctx, cancel := context.WithTimeout(e.ctx, patience(time.Now(), end))
	defer cancel()
	return e.renew(ctx, renewals), ctx.Err()
}

// land takes the answers for a batch.
func (e *Engine) land(batch []passenger, renewals []Renewal, answers []Answer) {
	now := time.Now()
	var lost []*Item
	var open []passenger
	e.mu.Lock()
	for i, p := range batch {
		switch answer := answers[i]; {
		case !p.here(): // removed or over while it flew
		case answer.Err != nil:
			open = append(open, p)
		case !answer.Held:
			e.drop(p.it)
			lost = append(lost, p.it)
		default:
			e.extend(p.it, Trust(answer.Asked, renewals[i].Term.Span(answer.Asked)), answer.Asked, now)
		}
	}
	e.rouse()
	e.mu.Unlock()
	e.failed(open)
	for _, it := range lost {
		it.Subject.Lost(ErrGone)
	}
}

// extend takes note that an item was renewed. The mutex is held.
func (e *Engine) extend(it *Item, trusted, asked, now time.Time) {
	it.flying = false
	term := it.Term()
	e.renewals.Add(1)
	if now.Sub(term.Asked) > term.Lease/2 {
		e.late.Add(1)
	}
	fresh := term
	fresh.Asked, fresh.Trusted = asked, trusted
	it.confirm(fresh)
	if term.Over(now) && !it.Term().Over(now) {
		e.rescued.Add(1)
	}
	it.next = it.Term().next()
	heap.Fix(&e.items, it.place-1)
}

// failed makes items due again after an attempt that was not answered.
func (e *Engine) failed(items []passenger) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range items {
		it := p.it
		if !p.here() {
			continue
		}
		it.flying = false
		e.failures.Add(1)
		if term := it.Term(); term.renewed() {
			it.next = retry(now, e.end(term, now))
			heap.Fix(&e.items, it.place-1)
		}
	}
	e.rouse()
}

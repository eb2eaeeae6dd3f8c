package renew

import (
	"container/heap"
	"context"
	"errors"
	"math/bits"
	"slices"
	"time"
)

// passenger is an item in one of its watches.
type passenger struct {
	it    *Item
	watch int
	end   time.Time // up to which it makes sense to ask for it
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

// fly renews items, batch by batch. A batch that fails at once is divided, for it may be
// one item that the server refuses. When that is not it, or an attempt runs out of time,
// the rest is not tried: what ails the server would cost each batch its whole patience.
func (e *Engine) fly(items []passenger) {
	batches := slices.Collect(slices.Chunk(items, batchSize))
	spoilt := 0
	for len(batches) > 0 {
		batch := e.board(batches[0])
		batches = batches[1:]
		if len(batch) == 0 {
			continue
		}
		kept, asked, err := e.attempt(batch)
		switch {
		case err == nil:
			e.land(batch, kept, asked)
		case errors.Is(err, context.DeadlineExceeded) || e.ctx.Err() != nil || spoilt == maxSpoilt:
			e.failed(append(batch, slices.Concat(batches...)...))
			return
		case len(batch) == 1:
			spoilt++
			e.failed(batch)
		default:
			half := len(batch) / 2
			batches = append([][]passenger{batch[:half], batch[half:]}, batches...)
		}
	}
}

// maxSpoilt is how many items a flight takes for refused, rather than the server for ill.
const maxSpoilt = 3

// board leaves out who was removed meanwhile.
func (e *Engine) board(items []passenger) []passenger {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	var here []passenger
	for _, p := range items {
		if p.here() {
			p.it.sent = p.it.Term()
			p.end = e.end(p.it.sent, now)
			here = append(here, p)
		}
	}
	return here
}

func (p passenger) here() bool { return p.it.place != 0 && p.it.watch == p.watch }

// attempt is one request, within the patience of the most pressing item.
func (e *Engine) attempt(batch []passenger) ([]bool, time.Time, error) {
	now := time.Now()
	items := make([]*Item, len(batch))
	end := batch[0].end
	for i, p := range batch {
		items[i] = p.it
		if p.end.Before(end) {
			end = p.end
		}
	}
	ctx, cancel := context.WithTimeout(e.ctx, patience(now, end))
	defer cancel()
	return e.renew(ctx, items)
}

// land takes the answer for a batch.
func (e *Engine) land(batch []passenger, kept []bool, asked time.Time) {
	now := time.Now()
	var lost []*Item
	e.mu.Lock()
	for i, p := range batch {
		it := p.it
		if !p.here() { // removed or over while it flew
			continue
		}
		it.flying = false
		if !kept[i] {
			e.drop(it)
			lost = append(lost, it)
			continue
		}
		term := it.Term()
		e.renewals.Add(1)
		if now.Sub(term.Asked) > term.Lease/2 {
			e.late.Add(1)
		}
		fresh := Term{Asked: asked, Lease: term.Lease, Every: term.Every, Until: term.Until}
		if set := it.sent.Span(asked); set < fresh.Span(asked) {
			// Redis may have carried out the shorter one last: trust no more than that,
			// and ask for the longer one again.
			fresh.Asked = asked.Add(set - term.Lease)
			if fresh.Deadline().Before(term.Deadline()) {
				it.replace(fresh)
			}
			it.next = now
			if !term.renewed() {
				it.next = it.Term().next()
			}
		} else {
			it.confirm(fresh)
			it.next = it.Term().next()
		}
		if term.Over(now) && !it.Term().Over(now) {
			e.rescued.Add(1)
		}
		heap.Fix(&e.items, it.place-1)
	}
	e.rouse()
	e.mu.Unlock()
	for _, it := range lost {
		it.Subject.Lost(ErrGone)
	}
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

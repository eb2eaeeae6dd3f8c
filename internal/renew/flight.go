package renew

import (
	"context"
	"math/bits"
	"slices"
	"time"
)

// abreast is how many requests for items of one urgency go side by side: batches one
// after another would be late where the server is far away.
const abreast = 8

// class is what the items of one flight have in common: their urgency, so that nobody
// shares the patience of those who have far less time, and the server.
type class struct {
	urgency int
	shard   string
}

// class is that of an item that is about to fly: its next event is its end.
func (it *Item) class(now time.Time) class {
	c := class{urgency: bits.Len64(uint64(patience(now, it.next) / time.Millisecond))}
	if subject, ok := it.Subject.(Sharded); ok {
		c.shard = subject.Shard()
	}
	return c
}

// divide divides what is due into flights, by class, and each class into a few that go side
// by side.
func divide(due []*Item, now time.Time) (flights [][]*Item) {
	classes := make(map[class][]*Item)
	for _, it := range due {
		class := it.class(now)
		classes[class] = append(classes[class], it)
	}
	for _, class := range classes {
		share := max(batchSize, (len(class)+abreast-1)/abreast)
		flights = slices.AppendSeq(flights, slices.Chunk(class, share))
	}
	return flights
}

// fly renews items, batch by batch. When an attempt runs out of time the rest is not tried:
// what ails the server would cost each batch its whole patience.
func (e *Engine) fly(items []*Item) {
	for len(items) > 0 {
		n := min(batchSize, len(items))
		batch, end := e.board(items[:n])
		items = items[n:]
		if len(batch) > 0 && !e.attempt(batch, end) {
			e.giveUp(items)
			return
		}
	}
}

// board leaves out who was removed meanwhile. The end is that of the most pressing item.
func (e *Engine) board(items []*Item) (batch []Renewal, end time.Time) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, it := range items {
		if it.place == 0 {
			continue
		}
		term := it.Term()
		if own := e.end(term, now); len(batch) == 0 || own.Before(end) {
			end = own
		}
		batch = append(batch, Renewal{it, term})
	}
	return batch, end
}

// attempt is one request. It reports false if it ran out of time.
func (e *Engine) attempt(batch []Renewal, end time.Time) (inTime bool) {
	ctx, cancel := context.WithTimeout(e.ctx, patience(time.Now(), end))
	defer cancel()
	answers := e.renew(ctx, batch)
	inTime = ctx.Err() == nil
	e.land(batch, answers)
	return inTime
}

// land takes the answers for a batch.
func (e *Engine) land(batch []Renewal, answers []Answer) {
	now := time.Now()
	var lost []*Item
	e.mu.Lock()
	for i, one := range batch {
		switch it, answer := one.Item, answers[i]; {
		case it.place == 0: // removed or over while it flew
		case answer.Err != nil:
			e.again(it, now)
		case !answer.Held:
			e.drop(it)
			lost = append(lost, it)
		default:
			e.extend(it, Trust(answer.Asked, one.Term.Span(answer.Asked)), answer.Asked, now)
		}
	}
	e.rouse()
	e.mu.Unlock()
	for _, it := range lost {
		it.Subject.Lost(ErrGone)
	}
}

// extend takes note that an item was renewed. The mutex is held.
func (e *Engine) extend(it *Item, trusted, asked, now time.Time) {
	it.flying = false
	term := it.Term()
	e.counts.Renewals++
	if now.Sub(term.Asked) > term.Lease/2 {
		e.counts.Late++
	}
	fresh := term
	fresh.Asked, fresh.Trusted = asked, trusted
	it.confirm(fresh)
	if term.Over(now) && !it.Term().Over(now) {
		e.counts.Rescued++
	}
	e.move(it, it.Term().next())
}

// giveUp makes items due again that are not asked for now.
func (e *Engine) giveUp(items []*Item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, it := range items {
		if it.place != 0 {
			e.again(it, time.Now())
		}
	}
	e.rouse()
}

// again makes an item due again that was not answered for. The mutex is held.
func (e *Engine) again(it *Item, now time.Time) {
	it.flying = false
	e.counts.Failures++
	if term := it.Term(); term.renewed() {
		e.move(it, retry(now, e.end(term, now)))
	}
}

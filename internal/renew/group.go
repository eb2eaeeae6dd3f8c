package renew

import (
	"context"
	"math/bits"
	"slices"
	"time"
)

// maxGroups is how many groups of one class are renewed side by side. If batches followed one
// another to a server that is far away, the last ones would be late.
const maxGroups = 8

// class is what the items of one group have in common. Items with much time left do not share
// the time-out of those with little, and each server is asked by itself.
type class struct {
	urgency int
	shard   string
}

// intoGroups divides the items that are due by class, and each class into a few groups.
func intoGroups(due []*Item, now time.Time) (groups [][]*Item) {
	classes := make(map[class][]*Item)
	for _, it := range due {
		class := it.class(now)
		classes[class] = append(classes[class], it)
	}
	for _, class := range classes {
		share := max(batchSize, (len(class)+maxGroups-1)/maxGroups)
		groups = slices.AppendSeq(groups, slices.Chunk(class, share))
	}
	return groups
}

// class returns the class of an item that is about to be renewed: its next event is its end.
func (it *Item) class(now time.Time) class {
	c := class{urgency: bits.Len64(uint64(patience(now, it.next) / time.Millisecond))}
	if subject, ok := it.Subject.(Sharded); ok {
		c.shard = subject.Shard()
	}
	return c
}

// renewGroup renews items, batch by batch. After a request that timed out it does not try the
// rest now: each further batch would probably time out, too.
func (e *Engine) renewGroup(items []*Item) {
	for len(items) > 0 {
		n := min(batchSize, len(items))
		batch, end := e.batch(items[:n])
		items = items[n:]
		if len(batch) > 0 && !e.request(batch, end) {
			e.postpone(items)
			return
		}
	}
}

// batch returns a renewal for each item that is still watched, and the earliest end of them.
func (e *Engine) batch(items []*Item) (batch []Renewal, end time.Time) {
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

// request sends one batch and takes its answers. It reports false if it timed out.
func (e *Engine) request(batch []Renewal, end time.Time) (inTime bool) {
	ctx, cancel := context.WithTimeout(e.ctx, patience(time.Now(), end))
	defer cancel()
	answers := e.renew(ctx, batch)
	inTime = ctx.Err() == nil
	e.take(batch, answers)
	return inTime
}

// take takes the answers for a batch.
func (e *Engine) take(batch []Renewal, answers []Answer) {
	now := time.Now()
	var lost []*Item
	e.mu.Lock()
	for i, one := range batch {
		switch it, answer := one.Item, answers[i]; {
		case it.place == 0: // removed or over meanwhile
		case answer.Err != nil:
			e.retryLater(it, now)
		case !answer.Held:
			e.drop(it)
			lost = append(lost, it)
		default:
			e.extend(it, answer, now)
		}
	}
	e.wakeLoop()
	e.mu.Unlock()
	for _, it := range lost {
		it.Subject.Lost(ErrGone)
	}
}

// extend notes that an item was renewed. The mutex is held.
func (e *Engine) extend(it *Item, answer Answer, now time.Time) {
	it.renewing = false
	term := it.Term()
	e.counts.Renewals++
	if now.Sub(term.Asked) > term.Lease/2 {
		e.counts.Late++
	}
	fresh := term
	fresh.Asked, fresh.Trusted, fresh.Kept = answer.Asked, Trust(answer.Asked, answer.Lease), answer.Asked.Add(answer.Lease)
	it.confirm(fresh)
	if term.Over(now) && !it.Term().Over(now) {
		e.counts.Rescued++
	}
	e.move(it, it.Term().next())
}

// postpone makes items due again that are not asked for now.
func (e *Engine) postpone(items []*Item) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, it := range items {
		if it.place != 0 {
			e.retryLater(it, time.Now())
		}
	}
	e.wakeLoop()
}

// retryLater makes an item due again that got no answer. The mutex is held.
func (e *Engine) retryLater(it *Item, now time.Time) {
	it.renewing = false
	e.counts.Failures++
	if term := it.Term(); term.renewed() {
		e.move(it, retry(now, e.end(term, now)))
	}
}

package waitqueue

import (
	"slices"

	"github.com/redlatch/redlatch/internal/signal"
)

// Batch claims the readers right behind w, to be asked for in the same request as w. Complete
// must be called for each of them. It returns nil if w is not a reader, or not the contender. If the batch
// grows, it claims twice as many after each request that was granted. After one that was not, it claims none of those that
// ask for one of several places, and otherwise one: whether it is served says whether anything is left.
func (w *Waiter) Batch() []*Waiter {
	if !w.reader {
		return nil
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.queue.front() != w {
		return nil
	}
	most := maxBatch
	if w.queue.places {
		most = w.queue.batch
	} else if w.queue.grows {
		most = min(w.queue.batch+1, maxBatch)
	}
	var batch []*Waiter
	for _, next := range w.queue.waiters[slices.Index(w.queue.waiters, w)+1:] {
		if len(batch) == most {
			break
		}
		if w.queue.places && next.told {
			continue
		}
		if !next.reader || next.Value == nil || next.trying || next.claimed || next.result != nil {
			break
		}
		next.claim()
		batch = append(batch, next)
	}
	return batch
}

// maxBatch is how many readers enter together with the contender.
const maxBatch = 128

// Complete ends a claim with its result, which is not nil, and says whether the lock was
// granted. It reports false if the waiter has left. Then the caller releases what was granted.
func (w *Waiter) Complete(result any, granted bool) bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	q := w.queue
	w.claimed = false
	if !granted {
		w.stopHolding()
		q.batch = 0
	}
	if q.holding == 0 && q.ignored {
		q.wake()
	}
	if w.left {
		return false
	}
	if granted && !q.shared && q.front() != w {
		// Those in front of w are readers too. If they were refused a moment before, no message
		// will wake them, because w holds the lock now.
		q.wake()
	}
	w.result = result
	signal.Send(w.woken)
	return true
}

// Unclaim ends the claim of a waiter that the contender has asked for in vain. The waiter goes on as if nobody had asked,
// and the next batch is smaller. It reports false if the waiter has left.
func (w *Waiter) Unclaim() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.claimed, w.told = false, false
	w.queue.batch = max(w.queue.batch-1, 0)
	return !w.left
}

// The hub's mutex is held in all that follows.

// claim notes that somebody else asks for the waiter. If several places are free, the next waiter may ask meanwhile, when
// this one would have.
func (w *Waiter) claim() {
	q := w.queue
	contends := q.places && q.front() == w
	w.claimed, w.told = true, true
	w.startHolding()
	if next := q.front(); contends && next != nil {
		next.tryAt = w.tryAt
		signal.Send(next.woken)
	}
}

// holdEnded notes that the waiter's hold has ended. That may be before the waiter knows that it
// was granted. A holder that never waited is nil.
func (w *Waiter) holdEnded() {
	if w != nil {
		w.ended = true
		w.stopHolding()
	}
}

// startHolding notes that the waiter holds the lock, or that it may.
func (w *Waiter) startHolding() {
	if !w.holding && !w.ended && !w.queue.shared {
		w.holding = true
		w.queue.holding++
	}
}

// stopHolding undoes startHolding.
func (w *Waiter) stopHolding() {
	if w.holding {
		w.holding = false
		w.queue.holding--
	}
}

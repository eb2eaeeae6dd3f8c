package waitqueue

import "time"

// Release notes that a holder is about to release the lock, and claims the contender of a
// queue for a hand-over. The holder is nil if it never waited. Release returns nil if there is
// no contender, if the contender is trying by itself, or if the lock is offered to other
// processes. Released must follow, unless others still hold the lock.
func (h *Hub) Release(key string, holder *Waiter, handOver bool) *Waiter {
	if h.idle.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holder.holdEnded()
	q := h.queues[key]
	if q == nil || !q.releasing(time.Now(), handOver) {
		return nil
	}
	w := q.claimable()
	if w != nil {
		w.claim()
	}
	return w
}

// Freeing is Release for who hands nothing over. Released must follow.
func (h *Hub) Freeing(key string) {
	if h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if q := h.queues[key]; q != nil {
		q.releasing(time.Now(), true)
	}
}

// releasing notes a release that is about to be sent, and whether that is sure to free the lock. It
// reports whether a waiter can be claimed.
func (q *queue) releasing(now time.Time, frees bool) bool {
	q.ignored = false // Released wakes the contender in any case
	q.granted()
	if q.counted = frees; !frees {
		return false
	}
	q.used = now
	q.offers.count(now)
	q.channel.expectEcho(now)
	w := q.front()
	switch {
	case w != nil:
		q.offers.polls(now, w.Backoff.Max)
	case !q.offers.ordered:
		q.offers.polls(now, 0)
	}
	switch {
	case q.holding > 0 || w != nil && q.claimable() == nil:
		return false
	case q.offers.due(now):
		// The message of this release may arrive before its reply. It must not wake w before
		// Released has said for how long the others come first.
		q.offer(now)
		return false
	}
	return true
}

// Released notes the outcome of a release: how many subscribers were told of a free lock, and
// how long the release took. It wakes a contender that was not claimed. If the lock is offered
// to others, the contender holds back for a time that depends on took.
func (h *Hub) Released(key string, claimed bool, told int, took time.Duration) {
	if told <= 0 && h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil {
		if told <= 0 {
			return
		}
		q = h.open(key)
		h.pruneLater()
	}
	q.freed(told, took)
	for _, other := range q.channel.queues {
		if other != q && other.shared { // it takes the message for an echo, too
			other.wake()
		}
	}
	if claimed {
		return
	}
	now := time.Now()
	q.used = now
	if !q.counted { // Release did not know whether it frees the lock
		q.offers.count(now)
		if w := q.front(); q.offers.due(now) && (w == nil || !w.trying) {
			q.offer(now)
		}
	}
	q.counted = false
	q.offers.answered(now)
	q.wake()
}

// Offer makes the next Release of a lock offer it to other processes, whatever was counted. It is for
// who asks again at once, with the backoff b.
func (h *Hub) Offer(key string, b Backoff) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil {
		q = h.open(key)
		h.pruneLater()
	}
	q.used = time.Now()
	q.offers.ordered = true
	q.offers.polls(q.used, h.backoff(b).Max)
}

// Wake makes the contender of a queue try now, because a holder has lost the lock or lets
// others in beside itself from now on. The holder is nil if it never waited.
func (h *Hub) Wake(key string, holder *Waiter) {
	if h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holder.holdEnded()
	if q := h.queues[key]; q != nil {
		q.wake()
	}
}

package redlatch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

const (
	// beatInterval is how often a process says that it is alive, for each lock that it
	// waits for. The scripts take it for dead after 3.5 s, so two beats may be late or
	// lost. Where leases are shorter, a third of the lease is the interval: the next in
	// turn has to learn in time when the lock will expire.
	beatInterval      = time.Second
	shortestInterval  = 50 * time.Millisecond
	intervalsPerLease = 3

	// sameRound is how far apart beats are due that share a round.
	sameRound = 100 * time.Millisecond

	// beatTimeout bounds a round, which its server has to itself: a lock without an answer must
	// not keep the others there from the next round for long.
	beatTimeout = 1500 * time.Millisecond

	// ghostAge is for how long an owner of this process stands in the front of a queue
	// without a waiter, until it is taken for one that left in vain. A waiter that has just
	// queued may not be known yet.
	ghostAge = 3500 * time.Millisecond
)

// heart says for a client that its waiters for fair locks are alive: one request for each
// server and round, however many locks and waiters there are. It has goroutines only while
// somebody waits.
type heart struct {
	client *Client
	kick   chan struct{} // capacity one: a beat is due before next

	mu      sync.Mutex
	locks   map[string]*awaited // by name
	busy    map[string]bool     // the servers whose last round is under way, and whether a beat is due there
	next    time.Time           // when the next round begins
	beating bool
}

// awaited is a fair lock that somebody of this process waits for.
type awaited struct {
	fair    script.Fair
	waiters map[string]*tenure   // by owner
	due     time.Time            // of the next beat
	ghosts  map[string]time.Time // owners of this process without a waiter, and since when
}

func newHeart(c *Client) *heart {
	return &heart{client: c, kick: make(chan struct{}, 1), locks: make(map[string]*awaited), busy: make(map[string]bool)}
}

// interval is the longest time between two beats for a waiter.
func (t *tenure) interval() time.Duration {
	return min(max(t.want.lease/intervalsPerLease, shortestInterval), beatInterval)
}

// add makes the heart beat for a waiter.
func (h *heart) add(t *tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := time.Now().Add(t.interval())
	lock := h.locks[t.point.name]
	if lock == nil {
		lock = &awaited{
			fair:    t.point.kind.(queueing).fair,
			waiters: make(map[string]*tenure),
			due:     due,
			ghosts:  make(map[string]time.Time),
		}
		h.locks[t.point.name] = lock
	}
	lock.waiters[t.owner] = t
	if due.Before(lock.due) {
		lock.due = due
	}
	if !h.beating {
		h.beating = true
		h.client.background.Go(h.beat)
	}
	if due.Before(h.next) {
		h.next = due
		h.hasten()
	}
}

// remove ends that. No beat that is sent afterwards speaks of the waiter.
func (h *heart) remove(t *tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[t.point.name]
	delete(lock.waiters, t.owner)
	if len(lock.waiters) == 0 {
		delete(h.locks, t.point.name)
	}
}

// beat goes on until nobody waits.
func (h *heart) beat() {
	for {
		next, more := h.round(time.Now())
		if !more {
			return
		}
		select {
		case <-time.After(time.Until(next)):
		case <-h.kick:
		case <-h.client.life.Done(): // the waiters are leaving
			return
		}
	}
}

// round sends the beats that are due, and those that would be soon: locks come to share their
// rounds. Each server has its own, so that one without an answer does not delay what the others
// say. It returns when the next beat is due, and false when nobody waits any more.
func (h *heart) round(now time.Time) (next time.Time, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = now.Add(beatInterval)
	locks, calls := make(map[string][]*awaited), make(map[string][]script.Call)
	for name, lock := range h.locks {
		shard := h.client.shard(name)
		_, busy := h.busy[shard]
		switch {
		case busy && !lock.due.After(now):
			h.busy[shard] = true
			continue
		case !busy && lock.due.Sub(now) < sameRound:
			locks[shard] = append(locks[shard], lock)
			calls[shard] = append(calls[shard], lock.beat(h.client.id, now))
		}
		if lock.due.Before(h.next) {
			h.next = lock.due
		}
	}
	for shard := range locks {
		h.busy[shard] = false
		h.client.background.Go(func() { h.send(shard, locks[shard], calls[shard]) })
	}
	h.beating = len(h.locks) > 0
	return h.next, h.beating
}

// send sends a round to one server, and takes in the answers. An error is no matter: the next
// round follows, and waiters look for themselves.
func (h *heart) send(shard string, locks []*awaited, calls []script.Call) {
	limited, cancel := context.WithTimeout(h.client.life, beatTimeout)
	defer cancel()
	for i, result := range h.client.runner.RunEach(limited, calls...) {
		if beaten, err := script.ReadKeptAlive(result.Reply); err == nil {
			h.heard(locks[i], beaten)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[shard] {
		h.hasten()
	}
	delete(h.busy, shard)
}

// hasten has the next round begin now. The mutex is held.
func (h *heart) hasten() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// beat is the request for a lock. It names its waiters, or some of them, others each time. It
// withdraws owners that have stood in the queue without a waiter for too long: their
// requests to leave were lost, or one to queue came late.
func (l *awaited) beat(client string, now time.Time) script.Call {
	owners := make([]string, 0, min(len(l.waiters), script.MaxKeptAlive))
	l.due = now.Add(beatInterval)
	for owner, t := range l.waiters { // in random order
		if len(owners) == cap(owners) {
			break
		}
		owners = append(owners, owner)
		if due := now.Add(t.interval()); due.Before(l.due) {
			l.due = due
		}
	}
	var gone []string
	for owner, since := range l.ghosts {
		if l.waiters[owner] == nil && now.Sub(since) >= ghostAge {
			gone = append(gone, owner)
		}
	}
	return l.fair.KeepAlive(client, owners, gone)
}

// heard wakes the waiters that have something to do: the next in turn, and whoever is
// missing from the queue.
func (h *heart) heard(l *awaited, beaten script.KeptAlive) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	missing := slices.Values(beaten.Missing)
	if len(beaten.Missing) > script.MaxKeptAlive/2 { // then so are those that were not named
		missing = maps.Keys(l.waiters)
	}
	for owner := range missing {
		if t := l.waiters[owner]; t != nil {
			t.waiter.WakeAt(now)
		}
	}
	if t := l.waiters[beaten.First]; t != nil {
		switch {
		case beaten.Free:
			t.waiter.WakeAt(now)
		case beaten.TTL >= 0:
			t.waiter.WakeAt(now.Add(beaten.TTL + time.Millisecond))
		}
	}
	maps.DeleteFunc(l.ghosts, func(owner string, _ time.Time) bool { return !slices.Contains(beaten.Unknown, owner) })
	for _, owner := range beaten.Unknown {
		if _, known := l.ghosts[owner]; !known {
			l.ghosts[owner] = now
		}
	}
}

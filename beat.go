package redlatch

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/wake"
)

const (
	// beatInterval is how often a process says that it is alive, for each lock that it
	// waits for. The scripts take it for dead after 3.5 s, so three beats may be late or
	// lost. Where leases are shorter, a third of the lease is the interval: the next in
	// turn has to learn in time when the lock will expire.
	beatInterval      = time.Second
	shortestInterval  = 50 * time.Millisecond
	intervalsPerLease = 3

	// beatTimeout bounds a round, which its shard has to itself: a lock without an answer
	// must not keep the others of its shard from the next round for long.
	beatTimeout = 1500 * time.Millisecond

	// beatSample is how many waiters of one lock a beat asks after. Others have their turn
	// in later beats.
	beatSample = 100

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

	mu      sync.Mutex
	locks   map[string]*awaited // by name
	busy    map[string]bool     // the shards whose last round is under way
	timer   *time.Timer         // of the next round
	next    time.Time           // when it fires
	beating bool
}

// awaited is a fair lock that somebody of this process waits for.
type awaited struct {
	fair     script.Fair
	waiters  map[string]waiting   // by owner
	interval time.Duration        // the shortest among them
	due      time.Time            // of the next beat
	ghosts   map[string]time.Time // owners of this process without a waiter, and since when
}

type waiting struct {
	*wake.Waiter
	interval time.Duration
}

// add makes the heart beat for a waiter.
func (h *heart) add(t *tenure, w *wake.Waiter) {
	interval := max(min(t.want.lease/intervalsPerLease, beatInterval), shortestInterval)
	due := time.Now().Add(interval)
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[t.point.name]
	if lock == nil {
		lock = &awaited{
			fair:     script.NewFair(t.point.name, h.client.config.FairWait, h.client.messages),
			waiters:  make(map[string]waiting),
			interval: interval,
			due:      due,
		}
		if h.locks == nil {
			h.locks, h.busy = make(map[string]*awaited), make(map[string]bool)
		}
		h.locks[t.point.name] = lock
	}
	lock.waiters[t.owner] = waiting{w, interval}
	lock.interval = min(lock.interval, interval)
	if due.Before(lock.due) {
		lock.due = due
	}
	if !h.beating {
		h.beating = true
		h.timer, h.next = time.NewTimer(interval), due
		h.client.background.Go(h.beat)
	}
	h.hasten(lock.due)
}

// hasten sees to it that the next round is not later than due. The mutex is held.
func (h *heart) hasten(due time.Time) {
	if due.Before(h.next) {
		h.next = due
		h.timer.Reset(time.Until(due))
	}
}

// remove ends that. No beat that is sent afterwards speaks of the waiter.
func (h *heart) remove(t *tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	lock := h.locks[t.point.name]
	if lock == nil {
		return
	}
	delete(lock.waiters, t.owner)
	if len(lock.waiters) == 0 {
		delete(h.locks, t.point.name)
	}
}

// beat goes on until nobody waits.
func (h *heart) beat() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		select {
		case <-h.timer.C:
		case <-h.client.life.Done(): // the waiters are leaving
			h.mu.Lock()
			h.beating = false
			h.mu.Unlock()
			return
		}
		rounds, ok := h.rounds(time.Now())
		if !ok {
			return
		}
		for shard, beats := range rounds {
			h.client.background.Go(func() { h.send(ctx, shard, beats) })
		}
	}
}

// beat is one lock's part in a round.
type beat struct {
	name  string
	call  script.Call
	asked int // after so many waiters
}

// rounds are the beats that are due, by shard, and those that would be soon: locks of one
// interval come to share their rounds. It sets the timer for the next ones, and ends the
// beating when nobody waits.
func (h *heart) rounds(now time.Time) (map[string][]beat, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.locks) == 0 {
		h.beating = false
		return nil, false
	}
	rounds := make(map[string][]beat)
	h.next = now.Add(beatInterval)
	for name, lock := range h.locks {
		if lock.due.Sub(now) <= lock.interval/4 {
			owners := lock.sample()
			lock.due = now.Add(lock.interval)
			if shard := h.shard(name); !h.busy[shard] {
				call := lock.fair.Beat(h.client.id, owners, lock.gone(now))
				rounds[shard] = append(rounds[shard], beat{name, call, len(owners)})
			}
		}
		if lock.due.Before(h.next) {
			h.next = lock.due
		}
	}
	for shard := range rounds {
		h.busy[shard] = true
	}
	h.timer.Reset(h.next.Sub(now))
	return rounds, true
}

// sample are some of the waiters, others each time. It looks up their shortest interval.
func (l *awaited) sample() []string {
	owners := make([]string, 0, min(len(l.waiters), beatSample))
	l.interval = beatInterval
	for owner, w := range l.waiters { // in random order
		if len(owners) == beatSample {
			break
		}
		owners = append(owners, owner)
		l.interval = min(l.interval, w.interval)
	}
	return owners
}

// gone are the owners that have stood in the queue without a waiter for too long: their
// requests to leave were lost, or one to queue came late.
func (l *awaited) gone(now time.Time) []string {
	var gone []string
	for owner, since := range l.ghosts {
		if _, waits := l.waiters[owner]; !waits && now.Sub(since) >= ghostAge {
			gone = append(gone, owner)
		}
	}
	return gone
}

func (h *heart) shard(name string) string {
	if h.client.sharded == nil {
		return ""
	}
	return h.client.sharded.Shard(name)
}

// send has the beats of one shard carried out. An error is no matter: the next round
// follows, and waiters look for themselves.
func (h *heart) send(ctx context.Context, shard string, beats []beat) {
	limited, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	calls := make([]script.Call, len(beats))
	for i, b := range beats {
		calls[i] = b.call
	}
	results := h.client.runner.RunEach(limited, calls...)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, shard)
	now := time.Now()
	for i, b := range beats {
		if results[i].Failed() != nil {
			continue
		}
		beaten, err := script.ReadBeaten(results[i].Reply)
		lock := h.locks[b.name]
		if err != nil || lock == nil {
			continue
		}
		lock.heard(beaten, now)
		if len(beaten.Missing) > b.asked/2 {
			// The queue is lost, or this process was taken for dead. Those that were not
			// asked after will not know either.
			lock.due = now.Add(shortestInterval)
			h.hasten(lock.due)
		}
	}
}

// heard wakes the waiters that have something to do: the next in turn, and whoever is
// missing from the queue.
func (l *awaited) heard(beaten script.Beaten, now time.Time) {
	for _, owner := range beaten.Missing {
		if w, waits := l.waiters[owner]; waits {
			w.LookAt(now)
		}
	}
	if w, waits := l.waiters[beaten.First]; waits {
		switch {
		case beaten.Free:
			w.LookAt(now)
		case beaten.TTL >= 0:
			w.LookAt(now.Add(beaten.TTL + time.Millisecond))
		}
	}
	ghosts := l.ghosts
	l.ghosts = nil
	for _, owner := range beaten.Unknown {
		if _, waits := l.waiters[owner]; waits {
			continue
		}
		if l.ghosts == nil {
			l.ghosts = make(map[string]time.Time)
		}
		l.ghosts[owner] = now
		if since, known := ghosts[owner]; known {
			l.ghosts[owner] = since
		}
	}
}

package lock

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/signal"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

const (
	// keepAliveInterval is how often a process says that it is alive, for each lock that it
	// waits for. The scripts take it for dead after 3.5 s, so two keep-alives may be late or
	// lost. If leases are shorter, a third of the lease is the interval: the head of the queue has
	// to learn in time when the lock will expire.
	keepAliveInterval = time.Second
	shortestInterval  = 50 * time.Millisecond
	intervalsPerLease = 3

	// sameRound is how far apart keep-alives are due that share a round.
	sameRound = 100 * time.Millisecond

	// roundTimeout bounds a round, which its server has to itself: a lock without an answer
	// must not keep the others there from the next round for long.
	roundTimeout = 1500 * time.Millisecond

	// ghostAge is for how long an owner of this process stands in the front of a queue
	// without a waiter, until it is taken for one that left in vain. A waiter that has just
	// queued may not be known yet.
	ghostAge = 3500 * time.Millisecond
)

// keepAlive says for a manager that its waiters for fair locks are alive: one request for each
// server and round, however many locks and waiters there are. It has goroutines only while
// somebody waits.
type keepAlive struct {
	manager *Manager
	kick    chan struct{} // capacity one: a keep-alive is due before next

	mu      sync.Mutex
	locks   map[string]*awaited // by name
	busy    map[string]bool     // the servers whose last round is under way, and whether a keep-alive is due there
	next    time.Time           // when the next round begins
	running bool
}

// awaited is a fair lock that somebody of this process waits for.
type awaited struct {
	fair    script.Fair
	waiters map[string]*attempt  // by owner
	due     time.Time            // of the next keep-alive
	ghosts  map[string]time.Time // owners of this process without a waiter, and since when
}

func newKeepAlive(m *Manager) *keepAlive {
	return &keepAlive{manager: m, kick: make(chan struct{}, 1), locks: make(map[string]*awaited), busy: make(map[string]bool)}
}

// add keeps a waiter alive.
func (k *keepAlive) add(a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	due := time.Now().Add(a.interval())
	lock := k.locks[a.ref.Lock]
	if lock == nil {
		lock = &awaited{
			fair:    a.ref.mode.(script.Fair),
			waiters: make(map[string]*attempt),
			due:     due,
			ghosts:  make(map[string]time.Time),
		}
		k.locks[a.ref.Lock] = lock
	}
	lock.waiters[a.owner] = a
	if due.Before(lock.due) {
		lock.due = due
	}
	if !k.running {
		k.running = true
		k.manager.life.background.Go(k.run)
	}
	if due.Before(k.next) {
		k.next = due
		signal.Send(k.kick)
	}
}

// remove ends that. No keep-alive that is sent afterwards speaks of the waiter.
func (k *keepAlive) remove(a *attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lock := k.locks[a.ref.Lock]
	delete(lock.waiters, a.owner)
	if len(lock.waiters) == 0 {
		delete(k.locks, a.ref.Lock)
	}
}

// released wakes, after a release by this process, the oldest waiter that polls: it may be the
// head of the queue.
func (k *keepAlive) released(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lock := k.locks[name]
	if lock == nil {
		return
	}
	var oldest *waitqueue.Waiter
	for _, a := range lock.waiters {
		if w := a.waiter; w.Backoff.Polls() && (oldest == nil || w.Since().Before(oldest.Since())) {
			oldest = w
		}
	}
	if oldest != nil {
		oldest.WakeAt(time.Now())
	}
}

// run goes on until nobody waits.
func (k *keepAlive) run() {
	for {
		next, more := k.round(time.Now())
		if !more {
			return
		}
		select {
		case <-time.After(time.Until(next)):
		case <-k.kick:
		case <-k.manager.life.ctx.Done(): // the waiters are leaving
			return
		}
	}
}

// round sends the keep-alives that are due, and those that would be soon: locks come to share their
// rounds. Each server has its own, so that one without an answer does not delay what the others
// say. It returns when the next one is due, and false when nobody waits any more.
func (k *keepAlive) round(now time.Time) (next time.Time, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = now.Add(keepAliveInterval)
	locks, calls := make(map[string][]*awaited), make(map[string][]script.Call)
	for _, name := range slices.Sorted(maps.Keys(k.locks)) { // so that a simulation can be repeated
		lock, shard := k.locks[name], k.manager.shard(name)
		_, busy := k.busy[shard]
		switch {
		case busy && !lock.due.After(now):
			k.busy[shard] = true
			continue
		case !busy && lock.due.Sub(now) < sameRound:
			locks[shard] = append(locks[shard], lock)
			calls[shard] = append(calls[shard], lock.request(k.manager.id, now))
		}
		if lock.due.Before(k.next) {
			k.next = lock.due
		}
	}
	for shard := range locks {
		k.busy[shard] = false
		k.manager.life.background.Go(func() { k.send(shard, locks[shard], calls[shard]) })
	}
	k.running = len(k.locks) > 0
	return k.next, k.running
}

// send sends a round to one server, and takes in the answers. An error is no matter: the next
// round follows, and waiters look for themselves.
func (k *keepAlive) send(shard string, locks []*awaited, calls []script.Call) {
	limited, cancel := context.WithTimeout(k.manager.life.ctx, roundTimeout)
	defer cancel()
	for i, result := range k.manager.runner.RunEach(limited, calls...) {
		if answer, err := script.ReadKeptAlive(result.Reply); err == nil {
			k.heard(locks[i], answer)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy[shard] {
		signal.Send(k.kick)
	}
	delete(k.busy, shard)
}

// request is the keep-alive of a lock. It names its waiters, or some of them, others each time. It
// withdraws owners that have stood in the queue without a waiter for too long: their
// requests to leave were lost, or one to queue came late.
func (l *awaited) request(client string, now time.Time) script.Call {
	owners := make([]string, 0, min(len(l.waiters), script.MaxKeptAlive))
	l.due = now.Add(keepAliveInterval)
	for owner, a := range l.waiters { // in random order
		if len(owners) == cap(owners) {
			break
		}
		owners = append(owners, owner)
		if due := now.Add(a.interval()); due.Before(l.due) {
			l.due = due
		}
	}
	var gone []string
	for owner, since := range l.ghosts {
		if l.waiters[owner] == nil && now.Sub(since) >= ghostAge {
			gone = append(gone, owner)
		}
	}
	slices.Sort(owners)
	slices.Sort(gone)
	return l.fair.KeepAlive(client, owners, gone)
}

// heard wakes the waiters that have something to do: the head of the queue, and whoever is
// missing from the queue.
func (k *keepAlive) heard(l *awaited, answer script.KeptAlive) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	missing := slices.Values(answer.Missing)
	if len(answer.Missing) > script.MaxKeptAlive/2 { // then so are those that were not named
		missing = maps.Keys(l.waiters)
	}
	for owner := range missing {
		if a := l.waiters[owner]; a != nil {
			a.waiter.WakeAt(now)
		}
	}
	if a := l.waiters[answer.First]; a != nil {
		switch {
		case answer.Free:
			a.waiter.WakeAt(now)
		case answer.TTL >= 0:
			a.waiter.WakeAt(now.Add(answer.TTL + time.Millisecond))
		}
	}
	maps.DeleteFunc(l.ghosts, func(owner string, _ time.Time) bool { return !slices.Contains(answer.Unknown, owner) })
	for _, owner := range answer.Unknown {
		if _, known := l.ghosts[owner]; !known {
			l.ghosts[owner] = now
		}
	}
}

// interval is the longest time between two keep-alives for a waiter. If it polls, a keep-alive is how it
// learns that it is the head of the queue.
func (a *attempt) interval() time.Duration {
	interval := a.opts.Lease / intervalsPerLease
	if b := a.waiter.Backoff; b.Polls() {
		interval = min(interval, b.Max)
	}
	return min(max(interval, shortestInterval), keepAliveInterval)
}

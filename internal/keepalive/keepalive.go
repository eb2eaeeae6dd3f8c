// Package keepalive tells Redis that this process's waiters for fair locks are alive: one request for each server
// and round, however many locks and waiters there are. So a waiter whose process is gone loses its place in the
// queue. It has goroutines only while somebody waits: one, and one for each of its requests.
//
// Whoever takes the package's mutex holds no mutex of package lock. Below it waiters may be woken.
package keepalive

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

// KeepAlive is that of one client.
type KeepAlive struct {
	Settings
	kick chan struct{} // capacity one: a keep-alive is due before next

	mu      sync.Mutex
	locks   map[string]*awaited // by name
	busy    map[string]bool     // the servers whose last round is under way, and whether a keep-alive is due there
	next    time.Time           // when the next round begins
	running bool
}

// Settings are what a KeepAlive is made with.
type Settings struct {
	Context context.Context // ends when nobody is to wait any more
	Client  string          // its id
	Runner  *script.Runner
	Shard   func(lock string) string // the server that has a lock
	Go      func(work func())        // runs work for which nobody waits
}

// Waiter is one waiter for a fair lock.
type Waiter struct {
	*waitqueue.Waiter
	Owner string
	Lease time.Duration // that it asks for
}

// awaited is a fair lock that somebody of this process waits for.
type awaited struct {
	fair    script.Fair
	waiters map[string]Waiter    // by owner
	due     time.Time            // of the next keep-alive
	ghosts  map[string]time.Time // owners of this process without a waiter, and since when
}

// New returns one for which nobody waits yet.
func New(s Settings) *KeepAlive {
	return &KeepAlive{Settings: s, kick: make(chan struct{}, 1), locks: make(map[string]*awaited), busy: make(map[string]bool)}
}

// Add keeps a waiter for a lock alive.
func (k *KeepAlive) Add(fair script.Fair, w Waiter) {
	k.mu.Lock()
	defer k.mu.Unlock()
	due := time.Now().Add(w.interval())
	lock := k.locks[fair.Lock]
	if lock == nil {
		lock = &awaited{fair: fair, waiters: make(map[string]Waiter), due: due, ghosts: make(map[string]time.Time)}
		k.locks[fair.Lock] = lock
	}
	lock.waiters[w.Owner] = w
	if due.Before(lock.due) {
		lock.due = due
	}
	if !k.running {
		k.running = true
		k.Go(k.run)
	}
	if due.Before(k.next) {
		k.next = due
		signal.Send(k.kick)
	}
}

// Remove ends that. No keep-alive that is sent afterwards speaks of the waiter.
func (k *KeepAlive) Remove(lock, owner string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.locks[lock].waiters, owner)
	if len(k.locks[lock].waiters) == 0 {
		delete(k.locks, lock)
	}
}

// Wake wakes the oldest waiter for a lock that this process has released or lost: it may be the head of the queue. After
// a release that is one that polls. The others are told.
func (k *KeepAlive) Wake(name string, released bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lock := k.locks[name]
	if lock == nil {
		return
	}
	var oldest *waitqueue.Waiter
	for _, w := range lock.waiters {
		if (!released || w.Backoff.Polls()) && (oldest == nil || w.Since().Before(oldest.Since())) {
			oldest = w.Waiter
		}
	}
	if oldest != nil {
		oldest.WakeAt(time.Now())
	}
}

// run goes on until nobody waits.
func (k *KeepAlive) run() {
	for {
		next, more := k.round(time.Now())
		if !more {
			return
		}
		select {
		case <-time.After(time.Until(next)):
		case <-k.kick:
		case <-k.Context.Done(): // the waiters are leaving
			return
		}
	}
}

// round sends the keep-alives that are due, and those that would be soon: locks come to share their
// rounds. Each server has its own, so that one without an answer does not delay what the others
// say. It returns when the next one is due, and false when nobody waits any more.
func (k *KeepAlive) round(now time.Time) (next time.Time, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = now.Add(keepAliveInterval)
	locks, calls := make(map[string][]*awaited), make(map[string][]script.Call)
	for _, name := range slices.Sorted(maps.Keys(k.locks)) { // so that a simulation can be repeated
		lock, shard := k.locks[name], k.Shard(name)
		_, busy := k.busy[shard]
		switch {
		case busy && !lock.due.After(now):
			k.busy[shard] = true
			continue
		case !busy && lock.due.Sub(now) < sameRound:
			locks[shard] = append(locks[shard], lock)
			calls[shard] = append(calls[shard], lock.request(k.Client, now))
		}
		if lock.due.Before(k.next) {
			k.next = lock.due
		}
	}
	for shard := range locks {
		k.busy[shard] = false
		k.Go(func() { k.send(shard, locks[shard], calls[shard]) })
	}
	k.running = len(k.locks) > 0
	return k.next, k.running
}

// send sends a round to one server, and takes in the answers. An error is no matter: the next
// round follows, and waiters look for themselves.
func (k *KeepAlive) send(shard string, locks []*awaited, calls []script.Call) {
	limited, cancel := context.WithTimeout(k.Context, roundTimeout)
	defer cancel()
	for i, result := range k.Runner.RunEach(limited, calls...) {
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
	for owner, w := range l.waiters { // in random order
		if len(owners) == cap(owners) {
			break
		}
		owners = append(owners, owner)
		if due := now.Add(w.interval()); due.Before(l.due) {
			l.due = due
		}
	}
	var gone []string
	for owner, since := range l.ghosts {
		if _, waits := l.waiters[owner]; !waits && now.Sub(since) >= ghostAge {
			gone = append(gone, owner)
		}
	}
	slices.Sort(owners)
	slices.Sort(gone)
	return l.fair.KeepAlive(client, owners, gone)
}

// heard wakes the waiters that have something to do: the head of the queue, and whoever is
// missing from the queue.
func (k *KeepAlive) heard(l *awaited, answer script.KeptAlive) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	missing := slices.Values(answer.Missing)
	if len(answer.Missing) > script.MaxKeptAlive/2 { // then so are those that were not named
		missing = maps.Keys(l.waiters)
	}
	for owner := range missing {
		if w, waits := l.waiters[owner]; waits {
			w.WakeAt(now)
		}
	}
	if w, waits := l.waiters[answer.First]; waits {
		switch {
		case answer.Free:
			w.WakeAt(now)
		case answer.TTL >= 0:
			w.WakeAt(now.Add(answer.TTL + time.Millisecond))
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
func (w Waiter) interval() time.Duration {
	interval := w.Lease / intervalsPerLease
	if w.Backoff.Polls() {
		interval = min(interval, w.Backoff.Max)
	}
	return min(max(interval, shortestInterval), keepAliveInterval)
}

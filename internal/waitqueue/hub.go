package waitqueue

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/signal"
)

// Listen opens a subscription connection.
type Listen func(ctx context.Context, events driver.Events) (driver.Listener, error)

// Hub keeps the wait queues of one process and its subscription connection. It opens the
// connection when somebody waits for the first time.
type Hub struct {
	// Backoff is that of waiters that bring none. It is set before the first of them joins.
	Backoff Backoff

	listen Listen
	logger *slog.Logger
	kick   chan struct{} // capacity one: the loop has something to do
	ctx    context.Context
	stop   context.CancelFunc
	done   sync.WaitGroup
	start  sync.Once // of the loop

	// idle says that there is no queue. Whoever acquires and releases locks that nobody waits
	// for reads it instead of taking the mutex. It may be out of date by the time it is read,
	// as an answer given under the mutex would be.
	idle atomic.Bool

	closed atomic.Bool // nobody is to wait any more

	mu       sync.Mutex
	queues   map[string]*queue   // by key; changed by open and drop only
	channels map[string]*channel // by name; those of the queues
	waiting  int
	pruning  bool // prune is to run
}

// NewHub returns a hub that has no connection yet.
func NewHub(listen Listen, logger *slog.Logger) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{
		listen:   listen,
		logger:   logger,
		kick:     make(chan struct{}, 1),
		ctx:      ctx,
		stop:     stop,
		queues:   make(map[string]*queue),
		channels: make(map[string]*channel),
	}
	h.idle.Store(true)
	return h
}

// Stop ends the hub's connection and goroutine and waits for them.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stop() // nobody starts the loop any more
	h.mu.Unlock()
	h.done.Wait()
}

// Close ends all waits, also those that begin later.
func (h *Hub) Close() {
	h.closed.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, q := range h.queues {
		for _, w := range q.waiters {
			signal.Send(w.woken)
		}
	}
}

// Waiting is the number of waiters in all queues.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// Oldest returns waiters with such a value that have waited since before a moment, the longest wait
// first. It looks at some waiters only, so that nobody has to wait for it: 4096, and no more than limit in
// one queue.
func (h *Hub) Oldest(limit int, before time.Time, such func(value any) bool) []*Waiter {
	if h.idle.Load() {
		return nil
	}
	h.mu.Lock()
	var found []*Waiter
	looked := 0
	for _, q := range h.queues {
		for _, w := range q.waiters[:min(len(q.waiters), limit)] {
			if looked++; such(w.Value) && w.since.Before(before) {
				found = append(found, w)
			}
		}
		if looked >= maxLooked {
			break
		}
	}
	h.mu.Unlock()
	slices.SortFunc(found, func(a, b *Waiter) int { // so that a simulation can be repeated
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.queue.key, b.queue.key))
	})
	return found[:min(len(found), limit)]
}

// maxLooked is how many waiters Oldest looks at, roughly.
const maxLooked = 4096

// Subscribed is the number of channels with an acknowledged subscription.
func (h *Hub) Subscribed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, ch := range h.channels {
		if ch.state == subscribed {
			n++
		}
	}
	return n
}

// Key is the key of the wait queue for a lock whose releases are announced on a channel. Locks
// that share a channel have a queue each. A key without a lock belongs to the channel itself.
func Key(channel, lock string) string { return channel + keySeparator + lock }

// keySeparator is in no name of a lock.
const keySeparator = "\x00"

// MustWait says whether whoever asks for the lock joins its queue first: others wait in it, or
// the lock is offered to other processes. A caller without the time to hold back does not.
func (h *Hub) MustWait(ctx context.Context, key string) bool {
	if h.idle.Load() {
		return false
	}
	end, limited := ctx.Deadline() // which may be code of the caller
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil || len(q.waiters) > 0 || !q.offers.heldBack(time.Now()) {
		return q != nil && len(q.waiters) > 0
	}
	return !limited || end.After(q.offers.until)
}

// Join adds a waiter to the end of a queue. If value has a method Joined, it is called with the
// waiter before anybody can claim it. A reader can hold the lock together with the readers next to
// it.
func (h *Hub) Join(key string, value any, reader bool) *Waiter {
	return h.join(key, value, reader, queue{}, Backoff{})
}

// JoinShared is Join for what has several places, such as the permits of a semaphore: a holder does
// not keep others out, so messages count while this process holds some. The waiters are asked for in one request, which
// serves all of them, or as many as it can if the batch grows.
func (h *Hub) JoinShared(key string, value any, grows bool) *Waiter {
	return h.join(key, value, true, queue{shared: true, grows: grows}, Backoff{})
}

// JoinPlaces is JoinShared for what each waiter asks for by a request of its own, such as a leased permit. Each release
// is handed over to a waiter. While requests are granted, more and more waiters are asked for together (Waiter.Batch).
func (h *Hub) JoinPlaces(key string, value any) *Waiter {
	return h.join(key, value, true, queue{shared: true, places: true, grows: true}, Backoff{})
}

// Watch adds a waiter that asks for nothing. It only wants to know when the lock may have changed.
func (h *Hub) Watch(key string, b Backoff) *Waiter {
	return h.join(key, nil, false, queue{}, b)
}

func (h *Hub) join(key string, value any, reader bool, as queue, b Backoff) *Waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil {
		q = h.open(key)
	}
	q.shared, q.places, q.grows = as.shared, as.places, as.grows
	w := &Waiter{Value: value, Backoff: b, reader: reader, hub: h, queue: q, woken: make(chan struct{}, 1), since: time.Now()}
	if v, ok := value.(interface{ Joined(w *Waiter) }); ok {
		v.Joined(w)
	}
	w.Backoff = h.backoff(w.Backoff)
	q.waiters = append(q.waiters, w)
	h.waiting++
	if q.offers.open {
		h.subscribe(q) // to hear whether others take the lock
	}
	return w
}

// backoff is that of the hub for who brings none.
func (h *Hub) backoff(b Backoff) Backoff {
	if b.Polls() {
		return b
	}
	return h.Backoff
}

// open adds a queue. The mutex is held.
func (h *Hub) open(key string) *queue {
	name, _, _ := strings.Cut(key, keySeparator)
	ch := h.channels[name]
	if ch == nil {
		ch = &channel{name: name}
		h.channels[name] = ch
	}
	q := &queue{key: key, channel: ch}
	ch.queues = append(ch.queues, q)
	h.queues[key] = q
	h.idle.Store(false)
	return q
}

// emptied notes that the last waiter of a queue has left. The last queue of a channel stays
// while the channel is subscribed, or asked for: otherwise a late acknowledgement would be
// taken for the answer to a later request. A queue stays for a while if other processes
// listened: it knows when to offer them the lock. The mutex is held.
func (h *Hub) emptied(q *queue) {
	ch := q.channel
	ch.emptied = time.Now()
	q.used, q.refusals = ch.emptied, 0
	switch {
	case q.offers.wanted():
		h.pruneLater()
	case len(ch.queues) > 1 || ch.state != asked && ch.state != subscribed:
		h.drop(q)
	}
}

// pruneLater makes sure that queues without waiters are dropped some time. The mutex is held.
func (h *Hub) pruneLater() {
	if !h.pruning {
		h.pruning = true
		time.AfterFunc(linger, h.prune)
	}
}

// prune drops the queues that have been unused for a while. It leaves the last queue of a
// subscribed channel to changes.
func (h *Hub) prune() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pruning = false
	now, left := time.Now(), false
	for _, q := range h.queues {
		ch := q.channel
		switch {
		case len(q.waiters) > 0:
		case len(ch.queues) == 1 && (ch.state == asked || ch.state == subscribed):
		case q.unused(now):
			h.drop(q)
		default:
			left = true
		}
	}
	if left {
		h.pruneLater()
	}
}

// dropAll removes the queues of a channel that nobody waits for. The mutex is held.
func (h *Hub) dropAll(ch *channel) {
	for _, q := range slices.Clone(ch.queues) {
		h.drop(q)
	}
}

// drop removes a queue, and its channel with the last one. The mutex is held.
func (h *Hub) drop(q *queue) {
	delete(h.queues, q.key)
	if ch := q.channel; ch.remove(q) {
		delete(h.channels, ch.name)
	}
	h.idle.Store(len(h.queues) == 0)
}

package waitqueue

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Listen opens a subscription connection.
type Listen func(ctx context.Context, events driver.Events) (driver.Listener, error)

// Hub keeps the wait queues of one process and its subscription connection. It opens the
// connection when somebody waits for the first time.
type Hub struct {
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

	mu       sync.Mutex
	queues   map[string]*queue   // by key; changed by open and drop only
	channels map[string]*channel // by name; those of the queues
	waiting  int
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

// Waiting is the number of waiters in all queues.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

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

// HasWaiters says whether anybody waits in a queue.
func (h *Hub) HasWaiters(key string) bool {
	if h.idle.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	return q != nil && len(q.waiters) > 0
}

// Join adds a waiter to the end of a queue. If value has a method Joined, it is called with the
// waiter before anybody can claim it. A reader can hold the lock together with the readers next to
// it.
func (h *Hub) Join(key string, value any, reader bool) *Waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil {
		q = h.open(key)
	}
	w := &Waiter{Value: value, reader: reader, hub: h, queue: q, woken: make(chan struct{}, 1)}
	if v, ok := value.(interface{ Joined(w *Waiter) }); ok {
		v.Joined(w)
	}
	q.waiters = append(q.waiters, w)
	h.waiting++
	return w
}

// Release notes that a holder is about to release the lock, and claims the contender of a
// queue for a hand-over. The holder is nil if it never waited. Release returns nil if there is
// no contender, if the contender is trying by itself, or if the lock is to be offered to other
// processes. Released must follow, unless others still hold the lock.
func (h *Hub) Release(key string, holder *Waiter, handOver bool) *Waiter {
	if h.idle.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holder.holdEnded()
	q := h.queues[key]
	if q == nil {
		return nil
	}
	q.ignored = false // Released wakes the contender in any case
	w := q.front()
	switch {
	case !handOver || w == nil || w.Value == nil || w.trying || w.claimed || w.result != nil || q.holding > 0:
		return nil
	case q.offerDue():
		// The message of this release may arrive before its reply. It must not wake w before
		// Released has said for how long the others come first.
		w.yield(offerTime)
		return nil
	}
	w.claimed = true
	w.startHolding()
	q.streak++
	return w
}

// Released notes the outcome of a release: how many subscribers were told of a free lock. It
// wakes a contender that was not claimed. If others were offered the lock, the contender holds
// back for the time of yield.
func (h *Hub) Released(key string, claimed bool, told int, yield time.Duration) {
	if h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.queues[key]
	if q == nil {
		return
	}
	if q.channel.state == subscribed {
		told-- // one of them is this process
	}
	q.others = max(told, 0)
	if claimed {
		return
	}
	w := q.front()
	offered := q.offerDue()
	q.streak = 0
	switch {
	case w == nil:
	case offered && !w.trying:
		w.yield(yield)
	default:
		w.yielding = false
		q.wake()
	}
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
// taken for the answer to a later request. The mutex is held.
func (h *Hub) emptied(q *queue) {
	ch := q.channel
	ch.emptied = time.Now()
	if len(ch.queues) > 1 || ch.state != asked && ch.state != subscribed {
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

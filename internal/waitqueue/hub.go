package waitqueue

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Listen opens a subscription connection.
type Listen func(ctx context.Context, events driver.Events) (driver.Listener, error)

// Hub keeps the lines of one process and its subscription connection, which it
// opens when somebody waits for the first time.
type Hub struct {
	listen Listen
	logger *slog.Logger
	kick   chan struct{} // capacity one: the loop is to look again
	ctx    context.Context
	stop   context.CancelFunc
	done   sync.WaitGroup
	start  sync.Once // of the loop

	// idle says that there is no line at all, so that whoever takes and gives back locks
	// that nobody waits for does not have to stand in line for the mutex. It may be out of
	// date by the time it is read, as an answer given under the mutex would be.
	idle atomic.Bool

	mu       sync.Mutex
	lines    map[string]*queue   // by key; changed by open and drop only
	channels map[string]*channel // by name; those of the lines
	waiting  int
}

const (
	// linger is for how long a channel stays subscribed after its last waiter,
	// so that a lock that is contended now and then is not subscribed each time.
	// The loop looks twice as often, which ends a subscription within 1.5 s.
	linger = time.Second
	// chunk is how many channels one SUBSCRIBE names.
	chunk = 256

	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// NewHub returns a hub that has no connection yet.
func NewHub(listen Listen, logger *slog.Logger) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	h := &Hub{
		listen:   listen,
		logger:   logger,
		kick:     make(chan struct{}, 1),
		ctx:      ctx,
		stop:     stop,
		lines:    make(map[string]*queue),
		channels: make(map[string]*channel),
	}
	h.idle.Store(true)
	return h
}

// open adds a line. The mutex is held.
func (h *Hub) open(key string) *queue {
	name, _, _ := strings.Cut(key, keySeparator)
	ch := h.channels[name]
	if ch == nil {
		ch = &channel{name: name}
		h.channels[name] = ch
	}
	l := &queue{key: key, channel: ch}
	ch.lines = append(ch.lines, l)
	h.lines[key] = l
	h.idle.Store(false)
	return l
}

// drop removes a line, and its channel with the last one. The mutex is held.
func (h *Hub) drop(l *queue) {
	delete(h.lines, l.key)
	ch := l.channel
	ch.lines = slices.DeleteFunc(ch.lines, func(other *queue) bool { return other == l })
	if len(ch.lines) == 0 {
		delete(h.channels, ch.name)
	}
	h.idle.Store(len(h.lines) == 0)
}

// Stop ends the hub's connection and goroutine and waits for them.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stop() // nobody starts the loop any more
	h.mu.Unlock()
	h.done.Wait()
}

// Waiting is the number of waiters in all lines.
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
		if ch.state == listening {
			n++
		}
	}
	return n
}

// Key is that of the line for a lock, whose waiters are told on a channel. Locks that share a
// channel have a line each. A key without a lock is the channel's own.
func Key(channel, lock string) string { return channel + keySeparator + lock }

// keySeparator is in no name of a lock.
const keySeparator = "\x00"

// HasWaiters says whether somebody stands in a line.
func (h *Hub) HasWaiters(key string) bool {
	if h.idle.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[key]
	return l != nil && len(l.waiters) > 0
}

// Join adds a waiter to the end of a line.
func (h *Hub) Join(key string, bid any) *Waiter { return h.join(key, bid, false) }

// JoinReader adds a waiter that can hold the lock together with those of its kind that
// stand next to it.
func (h *Hub) JoinReader(key string, bid any) *Waiter { return h.join(key, bid, true) }

func (h *Hub) join(key string, bid any, shared bool) *Waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[key]
	if l == nil {
		l = h.open(key)
	}
	w := &Waiter{Value: bid, shared: shared, hub: h, line: l, ring: make(chan struct{}, 1)}
	if b, ok := bid.(interface{ Joined(w *Waiter) }); ok {
		b.Joined(w) // before anybody can claim it
	}
	l.waiters = append(l.waiters, w)
	h.waiting++
	return w
}

// Release takes note that a holder is about to give the lock back, and picks the contender
// of a line for a hand-over, if there is to be one. The holder is nil if it never waited.
// Release returns nil if there is no contender, if it is trying by itself, or if others are
// to be offered the lock. Released must follow, unless others still hold the lock.
func (h *Hub) Release(key string, holder *Waiter, handOver bool) *Waiter {
	if h.idle.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holder.end()
	l := h.lines[key]
	if l == nil {
		return nil
	}
	l.missed = false // Released looks in any case
	w := l.front()
	switch {
	case !handOver || w == nil || w.Value == nil || w.trying || w.claimed || w.result != nil || l.inside > 0:
		return nil
	case l.offered():
		// The message of this release may be here before its answer. It must not let w look
		// before Released has said for how long the others come first.
		w.yield(offerTime)
		return nil
	}
	w.claimed = true
	w.goIn()
	l.streak++
	return w
}

// Released takes note of what came of a release: how many subscribers were told of a free
// lock. A contender that was not claimed is woken; it holds back for a moment if others were
// offered the lock.
func (h *Hub) Released(key string, claimed bool, told int, yield time.Duration) {
	if h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[key]
	if l == nil {
		return
	}
	if l.channel.state == listening {
		told-- // one of them is ourselves
	}
	l.others = max(told, 0)
	if claimed {
		return
	}
	w := l.front()
	offered := l.offered()
	l.streak = 0
	switch {
	case w == nil:
	case offered && !w.trying:
		w.yield(yield)
	default:
		w.yielding = false
		l.poke()
	}
}

// Wake makes the contender of a line look at the lock, because a holder, nil if it never
// waited, has lost it or become one that lets others in beside itself.
func (h *Hub) Wake(key string, holder *Waiter) {
	if h.idle.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	holder.end()
	if l := h.lines[key]; l != nil {
		l.poke()
	}
}

// subscribe asks for the line's channel unless that was done. The mutex is held.
func (h *Hub) subscribe(l *queue) {
	switch ch := l.channel; {
	case h.ctx.Err() != nil:
	case ch.state == listening && !l.told:
		l.tell() // what was published before this is lost
	case ch.state == unwanted:
		ch.state = wanted
		h.start.Do(func() { h.done.Go(h.loop) })
		select {
		case h.kick <- struct{}{}:
		default:
		}
	}
}

// emptied takes note that a line has no waiter any more. The last line of a channel stays while
// the channel is subscribed, or asked for: the answer would be taken for one to a later request.
// The mutex is held.
func (h *Hub) emptied(l *queue) {
	ch := l.channel
	ch.emptied = time.Now()
	if len(ch.lines) > 1 || ch.state != asked && ch.state != listening {
		h.drop(l)
	}
}

// acknowledged takes note that a channel is subscribed, or is again: a listener of several
// servers subscribes anew by itself.
func (h *Hub) acknowledged(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil || ch.state != asked && ch.state != listening {
		return // it answers a request on an earlier connection
	}
	ch.state, ch.refusals = listening, 0
	for _, l := range ch.lines {
		l.tell() // what was published meanwhile is lost
	}
}

func (h *Hub) message(name, _ string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[name]; ch != nil {
		for _, l := range ch.lines {
			l.hear()
		}
	}
}

var errGone = errors.New("the subscription connection is gone")

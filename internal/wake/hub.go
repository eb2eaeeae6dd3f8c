package wake

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

	// idle says that there is no line at all, so that whoever takes and gives back locks
	// that nobody waits for does not have to stand in line for the mutex. It may be out of
	// date by the time it is read, as an answer given under the mutex would be.
	idle atomic.Bool

	mu       sync.Mutex
	lines    map[string]*line   // by key; changed by put and drop only
	channels map[string][]*line // the same by channel, which several locks may share
	waiting  int
	running  bool
	stopped  bool
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
		listen: listen,
		logger: logger,
		kick:   make(chan struct{}, 1),
		ctx:    ctx,
		stop:   stop,
		lines:  make(map[string]*line),

		channels: make(map[string][]*line),
	}
	h.idle.Store(true)
	return h
}

// put adds a line. The mutex is held.
func (h *Hub) put(l *line) {
	h.lines[l.key] = l
	h.channels[l.channel] = append(h.channels[l.channel], l)
	h.idle.Store(false)
}

// drop removes a line. The mutex is held.
func (h *Hub) drop(l *line) {
	delete(h.lines, l.key)
	rest := slices.DeleteFunc(h.channels[l.channel], func(other *line) bool { return other == l })
	if h.channels[l.channel] = rest; len(rest) == 0 {
		delete(h.channels, l.channel)
	}
	h.idle.Store(len(h.lines) == 0)
}

// Stop ends the hub's connection and goroutine and waits for them.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	h.stop()
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
	for channel := range h.channels {
		if h.has(channel, listening) {
			n++
		}
	}
	return n
}

// has says whether a line of the channel is in that state. The mutex is held.
func (h *Hub) has(channel string, state subscription) bool {
	return slices.ContainsFunc(h.channels[channel], func(l *line) bool { return l.state == state })
}

// Key is that of the line for a lock, whose waiters are told on a channel. Locks that share a
// channel have a line each. A key without a lock is the channel's own.
func Key(channel, lock string) string { return channel + keySeparator + lock }

// keySeparator is in no name of a lock.
const keySeparator = "\x00"

// Crowded says whether somebody stands in a line.
func (h *Hub) Crowded(key string) bool {
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

// JoinShared adds a waiter that can hold the lock together with those of its kind that
// stand next to it.
func (h *Hub) JoinShared(key string, bid any) *Waiter { return h.join(key, bid, true) }

func (h *Hub) join(key string, bid any, shared bool) *Waiter {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[key]
	if l == nil {
		channel, _, _ := strings.Cut(key, keySeparator)
		l = &line{key: key, channel: channel}
		h.put(l)
	}
	w := &Waiter{Bid: bid, shared: shared, hub: h, line: l, ring: make(chan struct{}, 1)}
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
	case !handOver || w == nil || w.Bid == nil || w.trying || w.claimed || w.result != nil || l.inside > 0:
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
	if l.state == listening {
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

// Look makes the contender of a line look at the lock, because a holder, nil if it never
// waited, has lost it or become one that lets others in beside itself.
func (h *Hub) Look(key string, holder *Waiter) {
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
func (h *Hub) subscribe(l *line) {
	if l.state != unwanted || h.stopped {
		return
	}
	if h.has(l.channel, listening) {
		l.state = listening
		l.hear() // what was published before this is lost
		return
	}
	l.state = wanted
	if !h.running {
		h.running = true
		h.done.Go(h.loop)
	}
	h.rouse()
}

// emptied takes note that a line has no waiter any more. The mutex is held.
func (h *Hub) emptied(l *line) {
	l.emptied = time.Now()
	switch l.state {
	case unwanted, wanted, refused:
		h.drop(l)
	}
}

func (h *Hub) rouse() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// on handles the events of the subscription connection.
func (h *Hub) on() driver.Events {
	return driver.Events{Subscribed: h.acknowledged, Message: h.message}
}

// acknowledged takes note that a channel is subscribed, or is again: a listener of several
// servers subscribes anew by itself.
func (h *Hub) acknowledged(channel string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.has(channel, asked) && !h.has(channel, listening) {
		return // it answers a request on an earlier connection
	}
	for _, l := range h.channels[channel] {
		if l.state == unwanted {
			continue
		}
		l.state, l.refusals = listening, 0
		l.hear() // what was published meanwhile is lost
	}
}

func (h *Hub) message(channel, _ string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.channels[channel] {
		l.hear()
	}
}

var errGone = errors.New("the subscription connection is gone")

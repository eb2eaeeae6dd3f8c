package waitqueue

import (
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/signal"
)

const (
	// linger is how long a channel stays subscribed after its last waiter has left. A lock
	// that is contended now and then is not subscribed anew each time. The loop looks twice
	// as often, so a subscription ends within 1.5 s.
	linger = time.Second
	// chunk is how many channels one SUBSCRIBE names.
	chunk = 256
	// The pauses before a reconnect double from the first to the last.
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

var errGone = errors.New("the subscription connection is gone")

// subscribe makes sure that the queue's channel is subscribed, or asked for, unless its contender
// polls. It starts the loop when it is called for the first time. The mutex is held.
func (h *Hub) subscribe(q *queue) {
	switch ch, w := q.channel, q.front(); {
	case h.ctx.Err() != nil:
	case w != nil && w.Backoff.Polls():
	case ch.state == subscribed && !q.subscribed:
		q.onSubscribed()
	case ch.state == unwanted:
		ch.state = wanted
		h.start.Do(func() { h.done.Go(h.loop) })
		signal.Send(h.kick)
	}
}

// loop opens the connection when it is needed, and again when it breaks.
func (h *Hub) loop() {
	for backoff := (pause.Backoff{First: firstPause, Max: lastPause}); h.ctx.Err() == nil; {
		if !h.needed() {
			select {
			case <-h.kick:
			case <-h.ctx.Done():
			}
			continue
		}
		began := time.Now()
		listener, err := h.listen(h.ctx, driver.Events{Subscribed: h.acknowledged, Message: h.message})
		if err == nil {
			err = h.serve(listener)
			listener.Close()
			h.disconnected()
			if time.Since(began) > lastPause {
				backoff.Reset() // it has worked
			}
		}
		if err != nil && h.ctx.Err() == nil {
			wait := backoff.Next()
			h.logger.Warn("redlatch: waiting without messages", "error", err, "retry_in", wait)
			_ = pause.For(h.ctx, wait) // new waiters do not shorten it
		}
	}
}

// needed says whether any channel is to be listened to.
func (h *Hub) needed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		if ch.state != unwanted {
			return true
		}
	}
	return false
}

// serve keeps the subscriptions up to date on one connection. It returns when the connection is
// gone, or when nobody has waited for a while.
func (h *Hub) serve(listener driver.Listener) error {
	tick := time.NewTicker(signal.Interval(linger / 2))
	defer tick.Stop()
	for {
		if err := h.update(listener); err != nil {
			return err
		}
		select {
		case <-h.kick:
		case <-tick.C:
			if !h.needed() {
				return nil
			}
		case <-listener.Done():
			return errGone
		case <-h.ctx.Done():
			return nil
		}
	}
}

// update subscribes to the channels that are wanted, and unsubscribes from idle ones.
func (h *Hub) update(listener driver.Listener) error {
	add, remove := h.changes(time.Now())
	for part := range slices.Chunk(remove, chunk) {
		if err := listener.Unsubscribe(h.ctx, part...); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(add, chunk) {
		if err := h.subscribeTo(listener, part); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the channels to subscribe to and those to unsubscribe from.
func (h *Hub) changes(now time.Time) (add, remove []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		switch {
		case ch.state == wanted, ch.state == refused && !now.Before(ch.retryAt):
			ch.state = asked
			add = append(add, ch.name)
		case ch.state == subscribed && !ch.hasWaiters() && now.Sub(ch.emptied) >= linger:
			h.unsubscribed(ch, now)
			remove = append(remove, ch.name)
		}
	}
	return add, remove
}

// unsubscribed notes that a channel without waiters is not subscribed any more. Queues of locks
// that this process takes without waiting stay. The mutex is held.
func (h *Hub) unsubscribed(ch *channel, now time.Time) {
	ch.state = unwanted
	for _, q := range slices.Clone(ch.queues) {
		if q.subscribed = false; q.unused(now) {
			h.drop(q)
		} else {
			h.pruneLater()
		}
	}
}

// subscribeTo asks for channels. A server that refuses one of them refuses the whole request.
// Then subscribeTo asks for each channel by itself. Those that are refused are asked for again
// later.
func (h *Hub) subscribeTo(listener driver.Listener, channels []string) error {
	err := listener.Subscribe(h.ctx, channels...)
	if _, refused := errors.AsType[*driver.ServerError](err); !refused {
		return err
	}
	if len(channels) == 1 {
		if h.refuse(channels[0]) { // the logger may call anything: not under the mutex
			h.logger.Warn("redlatch: waiting without messages on a channel", "channel", channels[0], "error", err)
		}
		return nil
	}
	for _, channel := range channels {
		if err := h.subscribeTo(listener, []string{channel}); err != nil {
			return err
		}
	}
	return nil
}

// refuse notes a refused subscription, and reports whether it is the first refusal in a row.
func (h *Hub) refuse(name string) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil || ch.state != asked {
		return false
	}
	ch.refuse(time.Now())
	if !ch.hasWaiters() {
		h.dropAll(ch)
	}
	return ch.refusals == 1
}

// acknowledged notes that a channel is subscribed. A listener of several servers may subscribe
// anew by itself, so this may come more than once.
func (h *Hub) acknowledged(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil || ch.state != asked && ch.state != subscribed {
		return // it answers a request on an earlier connection
	}
	ch.state, ch.refusals, ch.echoes = subscribed, 0, 0
	for _, q := range ch.queues {
		q.onSubscribed()
	}
}

func (h *Hub) message(name, _ string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.channels[name]; ch != nil {
		foreign := !ch.isEcho(time.Now())
		for _, q := range ch.queues {
			if foreign || !q.shared { // the release itself has woken who waits here
				q.onMessage(foreign)
			}
		}
	}
}

// disconnected notes that no channel is subscribed any more.
func (h *Hub) disconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		if !ch.hasWaiters() {
			h.dropAll(ch)
		} else if ch.state != unwanted {
			ch.state = wanted
		}
	}
}

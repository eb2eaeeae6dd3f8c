package waitqueue

import (
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// loop opens the connection when it is needed, again when it breaks, and keeps the
// subscriptions as the lines want them.
func (h *Hub) loop() {
	pause := firstPause
	for h.ctx.Err() == nil {
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
				pause = firstPause // it has worked
			}
		}
		if err != nil && h.ctx.Err() == nil {
			h.logger.Warn("redlatch: waiting without messages", "error", err, "retry_in", pause)
			select {
			case <-time.After(pause): // newcomers do not shorten it
			case <-h.ctx.Done():
			}
			pause = min(2*pause, lastPause)
		}
	}
}

// serve keeps the subscriptions on one connection. It returns when the connection
// is gone or nothing was waited for any more.
func (h *Hub) serve(listener driver.Listener) error {
	tick := time.NewTicker(linger / 2)
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

// update subscribes to what is wanted and unsubscribes from what has been idle.
func (h *Hub) update(listener driver.Listener) error {
	add, remove := h.changes(time.Now())
	for batch := range slices.Chunk(remove, chunk) {
		if err := listener.Unsubscribe(h.ctx, batch...); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(add, chunk) {
		if err := h.subscribeTo(listener, batch); err != nil {
			return err
		}
	}
	return nil
}

// subscribeTo asks for channels. A server that refuses one of them refuses the request
// as a whole: then each is asked for by itself, and those that are refused wait.
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

// refuse takes note of a refused subscription, and reports whether it is the first.
func (h *Hub) refuse(name string) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ch := h.channels[name]
	if ch == nil || ch.state != asked {
		return false
	}
	ch.refuse(time.Now())
	if !ch.awaited() {
		h.drop(ch.lines[0])
	}
	return ch.refusals == 1
}

func (h *Hub) changes(now time.Time) (add, remove []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		switch {
		case ch.state == wanted, ch.state == refused && !now.Before(ch.retryAt):
			ch.state = asked
			add = append(add, ch.name)
		case ch.state == listening && !ch.awaited() && now.Sub(ch.emptied) >= linger:
			h.drop(ch.lines[0])
			remove = append(remove, ch.name)
		}
	}
	return add, remove
}

// needed says whether there is anything to listen for.
func (h *Hub) needed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lines) > 0
}

// disconnected takes note that no channel is subscribed any more.
func (h *Hub) disconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ch := range h.channels {
		if !ch.awaited() {
			h.drop(ch.lines[0])
		} else if ch.state != unwanted {
			ch.state = wanted
		}
	}
}

package wake

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// loop opens the connection when it is needed, again when it breaks, and keeps the
// subscriptions as the lines want them.
func (h *Hub) loop() {
	pause := firstPause
	for h.ctx.Err() == nil {
		if !h.needed() {
			h.pause(time.Hour)
			continue
		}
		listener, err := h.listen(h.ctx, h.on())
		if err == nil {
			pause = firstPause
			err = h.serve(listener)
			listener.Close()
			h.disconnected()
		}
		if err != nil && h.ctx.Err() == nil {
			h.logger.Warn("redlatch: waiting without messages", "error", err, "retry_in", pause)
			h.pause(pause)
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
	if err := inChunks(h.ctx, remove, listener.Unsubscribe); err != nil {
		return err
	}
	return inChunks(h.ctx, add, listener.Subscribe)
}

func (h *Hub) changes(now time.Time) (add, remove []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel, l := range h.lines {
		switch {
		case l.state == wanted:
			l.state = asked
			add = append(add, channel)
		case l.state == listening && len(l.waiters) == 0 && now.Sub(l.emptied) >= linger:
			// A line that is asked for is left alone until the answer is here, or
			// the answer would be taken for one to a later request.
			delete(h.lines, channel)
			h.subscribed--
			remove = append(remove, channel)
		}
	}
	return add, remove
}

func inChunks(ctx context.Context, channels []string, do func(context.Context, ...string) error) error {
	for len(channels) > 0 {
		n := min(chunk, len(channels))
		if err := do(ctx, channels[:n]...); err != nil {
			return err
		}
		channels = channels[n:]
	}
	return nil
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
	h.subscribed = 0
	for channel, l := range h.lines {
		if len(l.waiters) == 0 {
			delete(h.lines, channel)
		} else if l.state != unwanted {
			l.state, l.own = wanted, 0
		}
	}
}

// pause waits for d, or until the hub stops or has something new to do.
func (h *Hub) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.kick:
	case <-h.ctx.Done():
	}
}

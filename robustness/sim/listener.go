package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// listener is one subscription connection.
type listener struct {
	link   *link
	conn   *conn
	events driver.Events
	done   chan struct{}
	ended  bool
}

// Listen opens a subscription connection, which takes one round trip.
func (l *link) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	heard := &listener{link: l, events: events, done: make(chan struct{})}
	if events.Evicted == nil {
		heard.events.Evicted = func(string) {}
	}
	c := newCall(ctx, make([]driver.Command, 1))
	r := l.do(c, "listens", func() {
		l.with(c, &heard.conn, func() {
			heard.conn.listener = heard
			heard.conn.establish(c, "listens", "listening")
		})
	})[0]
	if r.Err != nil {
		l.process.say(l.name+" does not listen", heard.close)
		return nil, r.Err
	}
	return heard, nil
}

// Subscribe asks for channels, in their order by name.
func (h *listener) Subscribe(_ context.Context, channels ...string) error {
	channels = slices.Sorted(slices.Values(channels))
	return h.ask("subscribes "+strings.Join(channels, " "), func() {
		for _, channel := range channels {
			h.conn.request("subscribe "+channel, nil, func() {
				h.conn.channels = append(h.conn.channels, channel)
				h.tell("subscribed "+channel, func() { h.events.Subscribed(channel) })
			})
		}
	})
}

// Unsubscribe asks for no more of them.
func (h *listener) Unsubscribe(_ context.Context, channels ...string) error {
	channels = slices.Sorted(slices.Values(channels))
	return h.ask("unsubscribes "+strings.Join(channels, " "), func() {
		h.conn.request("unsubscribe "+strings.Join(channels, " "), nil, func() {
			h.conn.channels = slices.DeleteFunc(h.conn.channels, func(c string) bool { return slices.Contains(channels, c) })
		})
	})
}

// SubscribeShard asks for what is published in the server's shard alone, and waits for the answer. A
// server that neither has the slot nor gets it refuses.
func (h *listener) SubscribeShard(ctx context.Context, channels ...string) error {
	channels = slices.Sorted(slices.Values(channels))
	return h.askShard(ctx, "subscribes in its shard to "+strings.Join(channels, " "), func(s *redis) string {
		if slot := driver.Slot(channels[0]); s.member.owner(slot) != s && s.member.importing[slot] == nil {
			return fmt.Sprintf("MOVED %d %s", slot, s.member.owner(slot).address())
		}
		h.conn.shards = append(h.conn.shards, channels...)
		return ""
	}, channels)
}

// UnsubscribeShard asks for no more of them.
func (h *listener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	channels = slices.Sorted(slices.Values(channels))
	return h.askShard(ctx, "unsubscribes in its shard from "+strings.Join(channels, " "), func(*redis) string {
		h.conn.shards = slices.DeleteFunc(h.conn.shards, func(c string) bool { return slices.Contains(channels, c) })
		return ""
	}, nil)
}

// askShard has the server do something, and waits for its answer: a refusal, or acknowledgements of
// channels.
func (h *listener) askShard(ctx context.Context, what string, do func(s *redis) string, channels []string) error {
	if h.isDone() {
		return errCut
	}
	c := newCall(ctx, make([]driver.Command, 1))
	return h.link.do(c, h.conn.name+" "+what, func() {
		if h.ended || h.conn.broken {
			c.fail(errCut)
			return
		}
		h.conn.calls = append(h.conn.calls, c)
		h.conn.request(what, nil, func() {
			replies := make([]driver.Reply, 1)
			if refusal := do(h.link.server); refusal != "" {
				replies[0].Err = &driver.ServerError{Message: refusal}
			}
			h.conn.deliver("answer: "+describeReplies(replies), func() { h.conn.answer(c, replies) })
			for _, channel := range channels {
				if replies[0].Err == nil {
					h.tell("subscribed in its shard to "+channel, func() { h.events.Subscribed(channel) })
				}
			}
		})
	})[0].Err
}

func (h *listener) ask(what string, do func()) error {
	if h.isDone() {
		return errCut
	}
	h.link.post(h.conn.name+" "+what, func() { h.link.process.when(do) })
	return nil
}

// Done is closed when the connection is gone.
func (h *listener) Done() <-chan struct{} { return h.done }

// Close ends the connection.
func (h *listener) Close() {
	if !h.isDone() {
		h.link.post(h.conn.name+" closes", h.close)
	}
}

// close ends the connection for both sides.
func (h *listener) close() {
	if h.ended = true; h.conn != nil {
		h.conn.cut(h.link.latency(), h.link.latency())
	}
}

// end tells that the connection is gone.
func (h *listener) end() {
	if !h.isDone() {
		close(h.done)
	}
}

func (h *listener) isDone() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// tell delivers an event of a channel. Whoever has closed the connection hears nothing.
func (h *listener) tell(what string, event func()) {
	h.conn.deliver(what, func() {
		if !h.ended {
			event()
		}
	})
}

package goredis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

// request is one to subscribe that was sent. The server answers it by an acknowledgement of each
// channel, or refuses all of it by one error.
type request struct {
	number   int // in the order of sending
	shard    bool
	channels map[string]int // to be acknowledged, and how many times
	begun    bool           // one of them was
	answer   chan error     // has capacity one
}

// Subscribe asks for messages of the channels. It returns when the server has acknowledged the first
// of them, or refused all.
func (l *listener) Subscribe(ctx context.Context, channels ...string) error {
	return l.subscribe(ctx, false, channels, l.pubsub.Subscribe)
}

// SubscribeShard asks for what is published in the server's shard alone, and returns as Subscribe
// does. The server of go-redis's PubSub cannot be told that a slot is moving to it, and refuses its
// channels until the slot has moved.
func (l *listener) SubscribeShard(ctx context.Context, channels ...string) error {
	return l.subscribe(ctx, true, channels, l.pubsub.SSubscribe)
}

// Unsubscribe asks for no more messages of the channels, and does not wait for the server.
func (l *listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return l.unsubscribe(ctx, false, channels, l.pubsub.Unsubscribe)
}

// UnsubscribeShard asks for no more of what is published in the shard. A server that the slot has
// left refuses, and has ended the subscriptions by itself.
func (l *listener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	return l.unsubscribe(ctx, true, channels, l.pubsub.SUnsubscribe)
}

type write = func(ctx context.Context, channels ...string) error

func (l *listener) subscribe(ctx context.Context, shard bool, channels []string, send write) error {
	if err := l.check(ctx); err != nil || len(channels) == 0 {
		return err
	}
	ctx, cancel := l.node.bound(ctx)
	defer cancel()
	r := &request{shard: shard, channels: make(map[string]int), answer: make(chan error, 1)}
	for _, channel := range channels {
		r.channels[channel]++
	}
	err := l.write(ctx, func() { r.number, l.open = l.sent, append(l.open, r) }, send, channels)
	if err != nil {
		return err
	}
	select {
	case err := <-r.answer:
		if err == nil && !shard {
			l.compare(ctx, channels[0])
		}
		return err
	case <-l.done:
		return l.node.unknown(call.ErrListenerClosed)
	case <-ctx.Done():
		return l.node.unknown(call.Ended(ctx))
	}
}

// compare ends the listener, and breaks the link, if the server of the link does not know of the first
// subscription: then it is at another server.
func (l *listener) compare(ctx context.Context, channel string) {
	select {
	case l.writing <- struct{}{}: // nobody unsubscribes meanwhile
		defer func() { <-l.writing }()
	default:
		return
	}
	if l.checked {
		return
	}
	count := l.node.Do(ctx, driver.Command{Words: []string{"PUBSUB", "NUMSUB", channel}})
	if l.checked = count.Err == nil; !l.checked || len(count.Array) < 2 || count.Array[1].Int > 0 {
		return
	}
	go l.end()
	l.node.leave()
}

func (l *listener) unsubscribe(ctx context.Context, shard bool, channels []string, send write) error {
	if err := l.check(ctx); err != nil || len(channels) == 0 {
		return err // UNSUBSCRIBE alone would mean all of them
	}
	ctx, cancel := l.node.bound(ctx)
	defer cancel()
	return l.write(ctx, func() {
		for _, channel := range channels {
			if shard {
				l.leaving[channel] = append(l.leaving[channel], l.sent)
			}
		}
	}, send, channels)
}

// check says why nothing can be asked for.
func (l *listener) check(ctx context.Context) error {
	err := ctx.Err()
	select {
	case <-l.done:
		err = call.ErrListenerClosed
	default:
	}
	if err != nil {
		return l.notSent(err)
	}
	return nil
}

func (l *listener) notSent(err error) error {
	return fmt.Errorf("redis %s: %w: %w", l.node.name, driver.ErrNotSent, err)
}

// write notes a request and sends it. After a failure the connection is of no use any more. go-redis may
// connect again instead, by a dialer that ignores its context, so nobody waits for it beyond ctx.
func (l *listener) write(ctx context.Context, note func(), send write, channels []string) error {
	select {
	case l.writing <- struct{}{}:
	case <-l.done:
		return l.notSent(call.ErrListenerClosed)
	case <-ctx.Done():
		return l.notSent(call.Ended(ctx))
	}
	l.mu.Lock()
	l.sent++
	note()
	l.mu.Unlock()
	written := make(chan error, 1)
	go func() {
		err := guarded(func() error { return send(never, channels...) })
		<-l.writing
		if written <- err; err != nil {
			l.end()
		}
	}()
	select {
	case err := <-written:
		if err != nil {
			return l.node.unknown(pause.NotOfCaller(err))
		}
		return nil
	case <-l.done:
		return l.node.unknown(call.ErrListenerClosed)
	case <-ctx.Done():
		return l.node.unknown(call.Ended(ctx))
	}
}

// acknowledged takes the acknowledgement of a channel. It is false if nobody waits for it.
func (l *listener) acknowledged(shard bool, channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.open, func(r *request) bool { return r.shard == shard && r.channels[channel] > 0 })
	if at < 0 {
		return false
	}
	r := l.open[at]
	for shard && len(l.leaving[channel]) > 0 && l.leaving[channel][0] < r.number {
		l.endLeaving(channel) // the server has answered what was sent before, and refused this
	}
	if !r.begun {
		r.begun = true
		r.answer <- nil
	}
	if r.channels[channel]--; r.channels[channel] == 0 {
		delete(r.channels, channel)
	}
	if len(r.channels) == 0 {
		l.open = slices.Delete(l.open, at, at+1)
	}
	return true
}

// refused takes an error reply. It belongs to the first request without an answer that it can belong
// to. If there is none, a request to unsubscribe was refused, or a PING.
func (l *listener) refused(err *driver.ServerError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slot, moved := movedSlot(err)
	at := slices.IndexFunc(l.open, func(r *request) bool {
		return !r.begun && (!moved || r.shard && r.inSlot(slot))
	})
	if at >= 0 {
		l.open[at].answer <- err
		l.open = slices.Delete(l.open, at, at+1)
		return
	}
	for channel := range l.leaving {
		if moved && driver.Slot(channel) == slot {
			delete(l.leaving, channel)
		}
	}
}

func (r *request) inSlot(slot int) bool {
	for channel := range r.channels {
		return driver.Slot(channel) == slot // they have one slot
	}
	return false
}

// movedSlot is the slot of a refusal such as "MOVED 3999 127.0.0.1:6381".
func movedSlot(err *driver.ServerError) (slot int, moved bool) {
	words := strings.Fields(err.Message)
	if len(words) < 2 || words[0] != "MOVED" {
		return 0, false
	}
	slot, bad := strconv.Atoi(words[1])
	return slot, bad == nil
}

// left says whether the end of a subscription to a shard's channel was asked for. The server's
// message is the same if the slot has left it. A request under way explains one such message.
func (l *listener) left(channel string) (asked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked = len(l.leaving[channel]) > 0
	l.endLeaving(channel)
	return asked
}

// endLeaving forgets the first request to unsubscribe from a channel.
func (l *listener) endLeaving(channel string) {
	if all := l.leaving[channel]; len(all) > 1 {
		l.leaving[channel] = all[1:]
	} else {
		delete(l.leaving, channel)
	}
}

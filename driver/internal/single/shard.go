package single

import (
	"context"
	"errors"
	"sync"

	"github.com/redlatch/redlatch/driver"
)

var _ driver.ShardListener = (*listener)(nil)

// SubscribeShard asks for what is published in the server's shard alone. It returns when
// the server has acknowledged the first channel, or refused all. The error is a
// *driver.ServerError with the code MOVED if the slot belongs to another server and is not
// moving to this one.
func (l *listener) SubscribeShard(ctx context.Context, channels ...string) error {
	// A server that does not expect the slot takes no notice of ASKING.
	return l.ask(ctx, channels, l.client.B().Asking().Build(), l.client.B().Ssubscribe().Channel(channels...).Build())
}

// UnsubscribeShard asks for no more of it, and returns when the server has obeyed. A
// server that the slot has left refuses, and has ended the subscriptions by itself.
func (l *listener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	l.shard.asked(channels)
	err := l.ask(ctx, channels, l.client.B().Sunsubscribe().Channel(channels...).Build())
	if _, refused := errors.AsType[*driver.ServerError](err); refused || errors.Is(err, driver.ErrNotSent) {
		for _, channel := range channels {
			l.shard.ended(channel) // no answer will follow
		}
	}
	return err
}

// shard tells the two reasons from each other for which the server ends a subscription to a
// shard's channel: the listener asked for it, or the channel's slot has left the server. The
// server's message is the same in both cases. Messages keep their order, so it is enough to
// count: each SUNSUBSCRIBE under way explains one of them. An eviction that crosses a
// request is taken for its answer. This does no harm, because the channel was to be left.
type shard struct {
	mu      sync.Mutex
	leaving map[string]int // requests to unsubscribe that are under way
}

// asked notes that the listener unsubscribes from these channels.
func (s *shard) asked(channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range channels {
		s.leaving[channel]++
	}
}

// ended takes one request off the count, and says whether there was one.
func (s *shard) ended(channel string) (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked = s.leaving[channel] > 0
	if s.leaving[channel]--; s.leaving[channel] <= 0 {
		delete(s.leaving, channel)
	}
	return asked
}

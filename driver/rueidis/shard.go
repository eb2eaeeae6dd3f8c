package rueidis

import (
	"context"
	"errors"
	"sync"

	"github.com/redlatch/redlatch/driver"
)

var _ driver.ShardListener = (*listener)(nil)

// shard tells the two reasons apart for which the server ends a subscription to a
// shard's channel: that it was asked to, and that the channel's slot has left it. It says
// the same words in both cases. They come in the order of the wire, so it is enough to
// count: each SUNSUBSCRIBE on its way answers for one of them. An eviction that crosses
// one is taken for its answer, which hurts nobody, for the channel was to be left.
type shard struct {
	mu      sync.Mutex
	leaving map[string]int // requests to end, on their way
}

func newShard() *shard { return &shard{leaving: make(map[string]int)} }

// leave notes that the ends of these channels will be asked for.
func (s *shard) leave(channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range channels {
		s.leaving[channel]++
	}
}

// left takes one request off the count, and says whether there was one.
func (s *shard) left(channel string) (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.leaving[channel] {
	case 0:
		return false
	case 1:
		delete(s.leaving, channel)
	default:
		s.leaving[channel]--
	}
	return true
}

// SubscribeShard asks for what is published in the server's shard alone. It returns when
// the server has acknowledged the first channel, or refused all: by a *driver.ServerError
// with the code MOVED where the slot is another server's, and not on its way to this one.
func (l *listener) SubscribeShard(ctx context.Context, channels ...string) error {
	if len(channels) == 0 {
		return nil
	}
	// A server that does not expect the slot takes no notice of ASKING.
	return l.ask(ctx, l.client.B().Asking().Build(), l.client.B().Ssubscribe().Channel(channels...).Build())
}

// UnsubscribeShard asks for no more of it, and returns when the server has obeyed. A
// server that the slot has left refuses, and has ended the subscriptions by itself.
func (l *listener) UnsubscribeShard(ctx context.Context, channels ...string) error {
	if len(channels) == 0 {
		return nil // SUNSUBSCRIBE alone would mean all of them
	}
	l.shard.leave(channels)
	err := l.ask(ctx, l.client.B().Sunsubscribe().Channel(channels...).Build())
	var refused *driver.ServerError
	if errors.As(err, &refused) || errors.Is(err, driver.ErrNotSent) {
		for _, channel := range channels {
			l.shard.left(channel) // no answer will follow
		}
	}
	return err
}

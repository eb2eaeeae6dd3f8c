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
// the same words in both cases.
//
// The words come in the order of the wire, so it is enough to count: each SUNSUBSCRIBE
// on its way answers for one of them. An eviction that crosses one is taken for its
// answer, which hurts nobody, for the channel was to be left; the answer that follows
// then is for a channel that is not heard any more, and is passed over.
type shard struct {
	mu      sync.Mutex
	heard   map[string]struct{} // acknowledged, and not ended since
	leaving map[string]int      // requests to end, on their way
}

func newShard() *shard {
	return &shard{heard: make(map[string]struct{}), leaving: make(map[string]int)}
}

// begun notes an acknowledgement.
func (s *shard) begun(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[channel] = struct{}{}
}

// ended notes the end of a subscription, and says whether it was the server's own idea.
func (s *shard) ended(channel string) (evicted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, heard := s.heard[channel]
	delete(s.heard, channel)
	return !s.settle(channel) && heard
}

// leave notes that the ends of these channels will be asked for.
func (s *shard) leave(channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range channels {
		s.leaving[channel]++
	}
}

// stay takes a leave back: the server will not answer it channel by channel.
func (s *shard) stay(channels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range channels {
		s.settle(channel)
	}
}

// settle takes one request off the count, if there is one. It needs s.mu.
func (s *shard) settle(channel string) (asked bool) {
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
// with the code MOVED where the slot is another server's.
func (l *listener) SubscribeShard(ctx context.Context, channels ...string) error {
	if len(channels) == 0 {
		return nil
	}
	return l.ask(ctx, l.client.B().Ssubscribe().Channel(channels...).Build())
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
		l.shard.stay(channels)
	}
	return err
}

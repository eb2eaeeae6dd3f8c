package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// kind is what the channels of one request have in common.
type kind struct {
	slot  int
	shard bool // only for what is published in the server's shard
}

// update sends the requests that are due, and returns when the next one is; the zero time if
// there is none.
func (s *subscriber) update(conn driver.Listener) (next time.Time, err error) {
	shard, sharded := conn.(driver.ShardListener)
	sharded = sharded && s.listener.driver.shardMessages
	leaving, pending, next := s.takeDue(time.Now(), sharded)
	err = sideBySide(leaving, func(_ kind, names []string) error {
		err := s.unsubscribe(conn.Unsubscribe, names)
		if err == nil && sharded {
			err = s.unsubscribe(shard.UnsubscribeShard, names)
		}
		return err
	})
	if err != nil {
		return next, err
	}
	return next, sideBySide(pending, func(kind kind, names []string) (err error) {
		if sharded {
			names, err = s.subscribe(shard.SubscribeShard, names)
		}
		if err == nil && !kind.shard && len(names) > 0 {
			_, err = s.subscribe(conn.Subscribe, names)
		}
		return err
	})
}

// takeDue takes the requests that are due. From here on it expects an acknowledgement for
// each way in which a channel is requested.
func (s *subscriber) takeDue(now time.Time, sharded bool) (leaving, pending map[kind][]string, next time.Time) {
	s.listener.mu.Lock()
	defer s.listener.mu.Unlock()
	leaving, pending = make(map[kind][]string), make(map[kind][]string)
	for name := range s.leaving {
		of := kind{slot: driver.Slot(name)}
		leaving[of] = append(leaving[of], name)
	}
	clear(s.leaving)
	queue := s.pending
	s.pending = nil
	for _, sub := range queue {
		c := sub.channel
		switch {
		case s.subscriptions[sub.name] != sub || !sub.pending: // it was removed, and may have been added again
		case now.Before(c.retryAt):
			s.pending = append(s.pending, sub)
			if next.IsZero() || c.retryAt.Before(next) {
				next = c.retryAt
			}
		default:
			sub.pending, sub.requested = false, true
			s.unconfirmed[sub.name]++
			if sharded && !sub.shard {
				s.unconfirmed[sub.name]++
			}
			of := kind{c.slot, sub.shard}
			pending[of] = append(pending[of], sub.name)
		}
	}
	return leaving, pending, next
}

// maxRequests is how many requests are under way on one connection at a time.
const maxRequests = 256

// sideBySide makes requests, and returns when all have ended. They do not wait for one
// another: the server may be far away, and each slot has a request of its own.
func sideBySide(requests map[kind][]string, send func(kind, []string) error) error {
	places, failures := make(chan struct{}, maxRequests), make(chan error, len(requests))
	for kind, names := range requests {
		places <- struct{}{}
		go func() {
			failures <- send(kind, names)
			<-places
		}()
	}
	var first error
	for range requests {
		if err := <-failures; first == nil {
			first = err
		}
	}
	return first
}

// unsubscribe ends subscriptions in one way. A server that has lost the slot refuses; it has
// ended them itself.
func (s *subscriber) unsubscribe(unsubscribe func(context.Context, ...string) error, names []string) error {
	err := unsubscribe(s.life, names...)
	if _, refused := errors.AsType[*driver.ServerError](err); refused {
		return nil
	}
	return err
}

// subscribe requests channels of one slot, and returns those that the server did not refuse.
// A server that refuses one refuses them all: then each is requested by itself, unless the
// whole slot is elsewhere.
func (s *subscriber) subscribe(subscribe func(context.Context, ...string) error, names []string) (taken []string, err error) {
	err = subscribe(s.life, names...)
	if err == nil {
		return names, nil
	}
	if _, refused := errors.AsType[*driver.ServerError](err); !refused {
		return nil, err
	}
	to, elsewhere := parseRedirection(err, s.node.address)
	if elsewhere || len(names) == 1 {
		s.refused(names)
	}
	if elsewhere {
		s.listener.driver.slotMoved(s.node, to)
		s.listener.reroute()
	}
	if elsewhere || len(names) == 1 {
		return nil, nil
	}
	for i := range names {
		some, err := s.subscribe(subscribe, names[i:i+1])
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

// refused has channels that the server refused requested again, unless they belong to another
// subscriber by now. They are not requested in the other way, so only the
// acknowledgements of earlier requests will follow.
func (s *subscriber) refused(names []string) {
	s.listener.mu.Lock()
	defer s.listener.mu.Unlock()
	for _, name := range names {
		delete(s.unconfirmed, name)
		if sub := s.subscriptions[name]; sub != nil && sub.requested {
			s.retry(sub)
		}
	}
}

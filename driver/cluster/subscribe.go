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
	shard bool // only what is published in the server's shard is to be heard
}

// update ends and begins subscriptions as they are wished for, and returns when the next
// wish is due; the zero time if there is none.
func (e *ear) update(conn driver.Listener) (next time.Time, err error) {
	shard, sharded := conn.(driver.ShardListener)
	sharded = sharded && e.listener.driver.shardMessages
	drops, wishes, next := e.changes(time.Now(), sharded)
	err = sideBySide(drops, func(_ kind, names []string) error {
		err := e.drop(conn.Unsubscribe, names)
		if err == nil && sharded {
			err = e.drop(shard.UnsubscribeShard, names)
		}
		return err
	})
	if err != nil {
		return next, err
	}
	return next, sideBySide(wishes, func(kind kind, names []string) (err error) {
		if sharded {
			names, err = e.ask(shard.SubscribeShard, names)
		}
		if err == nil && !kind.shard && len(names) > 0 {
			_, err = e.ask(conn.Subscribe, names)
		}
		return err
	})
}

// mostAsked is how many requests are under way on one connection at a time.
const mostAsked = 256

// sideBySide makes requests, and returns when all have ended. They do not wait for one
// another: the server may be far away, and each slot has a request of its own.
func sideBySide(requests map[kind][]string, send func(kind, []string) error) error {
	places, failures := make(chan struct{}, mostAsked), make(chan error, len(requests))
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

// changes takes what is to be done. Whatever is wished for owes its acknowledgements from
// here on: one for each way in which it is asked for.
func (e *ear) changes(now time.Time, sharded bool) (drops, wishes map[kind][]string, next time.Time) {
	e.listener.mu.Lock()
	defer e.listener.mu.Unlock()
	drops, wishes = make(map[kind][]string), make(map[kind][]string)
	for name := range e.drops {
		of := kind{slot: driver.Slot(name)}
		drops[of] = append(drops[of], name)
	}
	clear(e.drops)
	queue := e.wishes
	e.wishes = nil
	for _, s := range queue {
		c := s.channel
		switch {
		case e.subscriptions[s.name] != s || !s.wished: // it has left, and may have come again
		case now.Before(c.backAt):
			e.wishes = append(e.wishes, s)
			if next.IsZero() || c.backAt.Before(next) {
				next = c.backAt
			}
		default:
			s.wished, s.asked = false, true
			e.owed[s.name]++
			if sharded && !s.shard {
				e.owed[s.name]++
			}
			of := kind{c.slot, s.shard}
			wishes[of] = append(wishes[of], s.name)
		}
	}
	return drops, wishes, next
}

// drop ends subscriptions in one way. That a server refuses this, having lost the slot,
// is fine: it has ended them itself.
func (e *ear) drop(unsubscribe func(context.Context, ...string) error, names []string) error {
	err := unsubscribe(e.life, names...)
	var refused *driver.ServerError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// ask asks for channels of one slot, and returns those that the server did not refuse.
// Where it refuses one, it refuses them all: then each is asked for by itself, unless the
// whole slot is elsewhere.
func (e *ear) ask(subscribe func(context.Context, ...string) error, names []string) (taken []string, err error) {
	err = subscribe(e.life, names...)
	var refused *driver.ServerError
	switch {
	case err == nil:
		return names, nil
	case !errors.As(err, &refused):
		return nil, err
	}
	to, elsewhere := parseRedirection(err, e.node.address)
	if elsewhere || len(names) == 1 {
		e.refused(names)
	}
	if elsewhere {
		e.listener.driver.moved(e.node, to)
		e.listener.reroute()
	}
	if elsewhere || len(names) == 1 {
		return nil, nil
	}
	for i := range names {
		some, err := e.ask(subscribe, names[i:i+1])
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

// refused makes wishes of channels that the server refused, unless they are somebody
// else's business by now. They are not asked for in another way, so that no
// acknowledgement but those of earlier requests will follow.
func (e *ear) refused(names []string) {
	e.listener.mu.Lock()
	defer e.listener.mu.Unlock()
	for _, name := range names {
		delete(e.owed, name)
		if s := e.subscriptions[name]; s != nil && s.asked {
			e.setback(s)
		}
	}
}

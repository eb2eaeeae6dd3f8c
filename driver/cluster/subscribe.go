package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// chunk is how many channels one SUBSCRIBE names.
const chunk = 256

// update ends and begins subscriptions as they are wished for, and returns when the next
// wish is due; the zero time if there is none.
func (e *ear) update(conn driver.Listener) (next time.Time, err error) {
	shard, _ := conn.(driver.ShardListener)
	if !e.listener.driver.shardMessages {
		shard = nil
	}
	drops, wishes, shardOnly, next := e.changes(time.Now(), shard != nil)
	if err := e.drop(conn, shard, drops); err != nil {
		return next, err
	}
	if shard != nil {
		if _, err := e.askShard(shard, shardOnly, 1); err != nil {
			return next, err
		}
		if wishes, err = e.askShard(shard, wishes, 2); err != nil {
			return next, err
		}
	}
	for names := range slices.Chunk(wishes, chunk) {
		if _, err := e.ask(conn.Subscribe, names, 1); err != nil {
			return next, err
		}
	}
	return next, nil
}

// changes takes what is to be done. Whatever is wished for owes its acknowledgements from
// here on.
func (e *ear) changes(now time.Time, shard bool) (drops, wishes, shardOnly []string, next time.Time) {
	e.listener.mu.Lock()
	defer e.listener.mu.Unlock()
	drops = slices.Collect(maps.Keys(e.drops))
	clear(e.drops)
	queue := e.wishes
	e.wishes = nil
	for _, s := range queue {
		switch {
		case e.subscriptions[s.name] != s || !s.wished: // it has left, and may have come again
		case now.Before(s.channel.backAt):
			e.wishes = append(e.wishes, s)
			if next.IsZero() || s.channel.backAt.Before(next) {
				next = s.channel.backAt
			}
		case s.shard:
			s.wished, s.asked = false, true
			e.owed[s.name]++
			shardOnly = append(shardOnly, s.name)
		default:
			s.wished, s.asked = false, true
			e.owed[s.name]++
			if shard {
				e.owed[s.name]++
			}
			wishes = append(wishes, s.name)
		}
	}
	return drops, wishes, shardOnly, next
}

// bySlot groups channels by their slots.
func bySlot(names []string) (groups [][]string) {
	index := make(map[int]int)
	for _, name := range names {
		i, found := index[driver.Slot(name)]
		if !found {
			i = len(groups)
			index[driver.Slot(name)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], name)
	}
	return groups
}

// drop ends the subscriptions to channels.
func (e *ear) drop(conn driver.Listener, shard driver.ShardListener, drops []string) error {
	for names := range slices.Chunk(drops, chunk) {
		if err := e.dropSome(conn.Unsubscribe, names); err != nil {
			return err
		}
	}
	if shard == nil {
		return nil
	}
	for _, names := range bySlot(drops) {
		if err := e.dropSome(shard.UnsubscribeShard, names); err != nil {
			return err
		}
	}
	return nil
}

// dropSome ends subscriptions in one way. That a server refuses this, having lost the
// slot, is fine: it has ended them itself.
func (e *ear) dropSome(unsubscribe func(context.Context, ...string) error, names []string) error {
	ctx, cancel := e.request()
	defer cancel()
	err := unsubscribe(ctx, names...)
	var refused *driver.ServerError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// askShard asks for shard messages, slot by slot, and returns the channels that the
// server did not refuse.
func (e *ear) askShard(shard driver.ShardListener, wishes []string, owed int) (taken []string, err error) {
	for _, names := range bySlot(wishes) {
		some, err := e.ask(shard.SubscribeShard, names, owed)
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

// ask asks for channels, and returns those that the server did not refuse. Where it
// refuses one, it refuses them all: then each is asked for by itself, unless the whole
// slot is elsewhere. A channel that is refused will not get the acknowledgements that it
// is owed.
func (e *ear) ask(subscribe func(context.Context, ...string) error, names []string, owed int) (taken []string, err error) {
	ctx, cancel := e.request()
	defer cancel()
	err = subscribe(ctx, names...)
	var refused *driver.ServerError
	switch {
	case err == nil:
		return names, nil
	case !errors.As(err, &refused):
		return nil, err
	}
	if to, ok := parseRedirection(err, e.node.address); ok && !to.asking {
		e.refused(names, owed)
		e.listener.driver.moved(e.node, to)
		e.listener.reroute()
		return nil, nil
	}
	if len(names) == 1 {
		e.refused(names, owed)
		return nil, nil
	}
	for _, name := range names {
		some, err := e.ask(subscribe, []string{name}, owed)
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

// request bounds one request on the connection.
func (e *ear) request() (context.Context, context.CancelFunc) {
	return e.listener.driver.options.bounded(e.life, time.Now())
}

// refused makes wishes of channels that the server refused, unless they are somebody
// else's business by now.
func (e *ear) refused(names []string, owed int) {
	l := e.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		e.paid(name, owed)
		if s := e.subscriptions[name]; s != nil && s.asked {
			e.setback(s)
		}
	}
}

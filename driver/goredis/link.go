package goredis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/signal"
)

// errLeft is why a connection is of no use any more whose end somebody else has decided.
var errLeft = errors.New("the connection was given up")

// link is a connection of the client's pool that the driver keeps. All calls share it, so all go to one
// server. Calls that come while others wait for their replies share the next pipeline. A link has one
// goroutine. It is over after its first failure, and the next one is made.
type link struct {
	wake chan struct{} // capacity one: there are calls, or it is over

	// Guarded by node.mu.
	busy  time.Time // since when it has been connecting, or waiting for replies; zero: it does neither
	ready bool      // it was connected
	over  bool      // nothing is to be sent on it any more
}

// submit hands a call to the link.
func (n *node) submit(s *sending, now time.Time) {
	n.mu.Lock()
	n.queue = append(n.queue, s)
	l := n.linked(now)
	n.mu.Unlock()
	signal.Send(l.wake)
}

// linked is the link. It is a new one if there is none, or if its server has been silent for the command
// timeout. It needs n.mu.
func (n *node) linked(now time.Time) *link {
	if l := n.link; l != nil {
		if l.busy.IsZero() || now.Sub(l.busy) < n.options.timeout {
			return l
		}
		l.over = true
	}
	n.link = &link{wake: make(chan struct{}, 1)}
	go n.keep(n.link, n.wait)
	return n.link
}

// keep makes a link after a pause, and sends calls on it until it is over. If it cannot be made, it fails
// the calls that wait.
func (n *node) keep(l *link, wait time.Duration) {
	_ = pause.For(n.life, wait)
	err := n.run(l, false)
	if errors.Is(err, call.ErrOther) {
		n.purge()
		err = n.run(l, true)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l.over = true
	if n.link != l {
		return
	}
	n.link, n.wait = nil, 0
	if !l.ready {
		if errors.Is(err, redis.ErrClosed) { // it stays closed: a longer pause spares no server
			n.backoff.Reset()
		}
		n.wait = n.backoff.Next()
		for _, s := range n.queue {
			s.finish(err)
		}
		n.queue = nil
	}
	n.linkAgain()
}

// linkAgain makes a link if somebody needs it. It needs n.mu.
func (n *node) linkAgain() {
	if n.life.Err() == nil && len(n.queue)+len(n.listeners) > 0 {
		n.linked(time.Now())
	}
}

// run takes a connection for a link, and sends calls on it. It may lead to another server than the link
// before only if that is expected.
func (n *node) run(l *link, other bool) error {
	n.mu.Lock()
	l.busy = time.Now()
	n.mu.Unlock()
	ctx, cancel := call.Bound(n.life, time.Now(), n.options.timeout)
	defer cancel()
	c, err := n.present(ctx)
	if err != nil {
		return err
	}
	err = hold(c.original, func(tx *redis.Tx) error {
		who, err := identify(tx)
		if err == nil {
			err = n.join(l, who, other)
		}
		if err == nil {
			err = n.serve(l, c, tx)
		}
		if err != nil {
			discard(tx)
		}
		return err
	})
	n.failed(c, err)
	return err
}

// hold takes a connection out of a client's pool while f uses it. A transaction of go-redis has a
// connection for itself, and the hooks of its client. This one watches no key.
func hold(c *redis.Client, f func(*redis.Tx) error) error {
	return guarded(func() error { return c.Watch(context.Background(), f) })
}

// discard has a connection closed when it goes back to its pool.
func discard(tx *redis.Tx) {
	_ = tx.Process(context.Background(), &once{Cmd: redis.NewCmd(context.Background(), "ping", unwritable{}), name: "ping"})
}

// unwritable is a word that cannot be written. go-redis closes the connection then.
type unwritable struct{}

func (unwritable) MarshalBinary() ([]byte, error) { return nil, errLeft }

// identify asks who the server of a connection is.
func identify(tx *redis.Tx) (call.Identity, error) {
	s := newSending(context.Background(), []driver.Command{call.AskRole, call.AskAbout}, nil)
	s.err = guarded(func() error { return send(tx, tx.Pipeline(), s) })
	for i := range s.commands {
		if err := s.commands[i].Err(); err != nil && !answers(refusal(err)) {
			return call.Identity{}, refusal(err)
		}
	}
	if s.state.Load() != written {
		return call.Identity{}, s.err
	}
	return call.Identify(convert(&s.commands[0]), convert(&s.commands[1]), ""), nil
}

// join makes a link the one that calls use, if it leads to the right server.
func (n *node) join(l *link, who call.Identity, other bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	moved := n.server.Known() && !n.floating && !n.server.Same(who)
	switch {
	case l.over:
		return errLeft
	case who.Replica:
		return call.ErrReplica
	case moved && !other:
		return call.ErrOther
	case moved:
		for listener := range n.listeners {
			go listener.end()
		}
	}
	n.server, l.ready = n.server.Then(who), true // before a command can go there
	n.backoff.Reset()
	return nil
}

// leave breaks the link, as after a failover, because a newer connection leads to another server.
func (n *node) leave() {
	n.mu.Lock()
	if l := n.link; l != nil {
		n.link, l.over = nil, true
		signal.Send(l.wake)
	}
	n.linkAgain()
	n.mu.Unlock()
	n.purge()
}

// purge closes the idle connections of the client's pool. They may lead to a former server.
func (n *node) purge() {
	c := n.client.Load()
	if c == nil {
		return
	}
	for idle := c.original.PoolStats().IdleConns; idle > 0; idle-- {
		_ = hold(c.original, func(tx *redis.Tx) error { discard(tx); return nil })
	}
}

// serve sends calls on a link until it is over. An idle link sends a PING in each command timeout, so that
// its end is noticed. A pool of one connection gets it back whenever no call waits.
func (n *node) serve(l *link, c *clients, tx *redis.Tx) error {
	idle := time.NewTimer(n.options.timeout)
	defer idle.Stop()
	pipeline := tx.Pipeline()
	var calls []*sending
	// Of the calls that have just been answered, most are followed by others.
	follow := call.NewYielder(func() int { return len(calls) + n.waiting() }, func() int64 { return 0 })
	for {
		if n.life.Err() != nil {
			return nil
		}
		var over bool
		calls, over = n.take(l, calls[:0], time.Now())
		switch {
		case over:
			return errLeft // the pool must not keep a connection to a former server
		case len(calls) == 0 && poolSize(c.original) == 1:
			return nil
		}
		if len(calls) == 0 {
			select {
			case <-l.wake:
				continue
			case <-n.life.Done():
				return nil
			case <-idle.C:
				calls = append(calls, newSending(context.Background(), []driver.Command{{Words: []string{"PING"}}}, make(chan struct{}, 1)))
			}
		}
		idle.Reset(n.options.timeout)
		if err := n.exec(l, tx, pipeline, calls); err != nil {
			return err
		}
		follow.Yield()
		clear(calls)
	}
}

// maxCalls is how many calls share a pipeline.
const maxCalls = 512

// take appends to calls those that wait for a link, and leaves out those that are over.
func (n *node) take(l *link, calls []*sending, now time.Time) (taken []*sending, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.busy = now
	if l.over {
		return nil, true
	}
	at := 0
	for ; at < len(n.queue) && len(calls) < maxCalls; at++ {
		if s := n.queue[at]; s.state.Load() == waiting {
			calls = append(calls, s)
		}
	}
	if n.queue = slices.Delete(n.queue, 0, at); len(calls) == 0 {
		l.busy = time.Time{}
	}
	return calls, false
}

// waiting is how many calls wait for a link.
func (n *node) waiting() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.queue)
}

// exec sends calls and finishes them. The error ends the link. What comes from a link that is over counts
// as no answer: it may be that of a former server.
func (n *node) exec(l *link, tx *redis.Tx, pipeline redis.Pipeliner, calls []*sending) error {
	sent := guarded(func() error { return send(tx, pipeline, calls...) })
	n.mu.Lock()
	over := l.over
	n.mu.Unlock()
	var broken error
	for _, s := range calls {
		if over {
			s.left, broken = true, errLeft
		} else if err := s.trouble(sent); err != nil {
			broken = err
		}
		s.finish(sent)
	}
	return broken
}

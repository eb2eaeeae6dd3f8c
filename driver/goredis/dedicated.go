package goredis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// DedicatedPipeline sends the commands on a connection that it takes out of the client's pool. At
// most 8 connections are taken, and at most half of the pool. The command timeout bounds the wait
// for a connection. Only ctx bounds the wait for a place among the 8, and for the replies. If ctx
// ends without a deadline, the connection stays taken until the server replies. See driver.Driver.
func (n *node) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := n.check(ctx, commands); err != nil {
		return call.FailAll(len(commands), err)
	}
	server, c, err := n.connected(ctx)
	if err != nil {
		return call.FailAll(len(commands), n.notSent(err))
	}
	if err := n.takePlace(ctx, c); err != nil {
		return call.FailAll(len(commands), fmt.Errorf("redis %s: %w: %w", n.name, driver.ErrNotSent, err))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := newSending(ctx, commands, make(chan struct{}, 1))
	go func() {
		defer func() { <-c.places }()
		n.sendBeside(ctx, c, server, s)
	}()
	connecting := time.AfterFunc(n.options.timeout, func() {
		if s.withdraw() {
			cancel(call.NoAnswer(n.options.timeout))
		}
	})
	defer connecting.Stop()
	return n.replies(ctx, nil, s, make([]driver.Reply, len(commands)))
}

// sendBeside sends a call on a connection beside the link, if that leads to the same server.
func (n *node) sendBeside(ctx context.Context, c *clients, server call.Identity, s *sending) {
	// The client's own timeouts would end a long WAIT. WithTimeout leaves the hooks out.
	err := hold(c.original.WithTimeout(remaining(ctx)), func(tx *redis.Tx) error {
		who, err := identify(tx)
		if err == nil && !n.floating && !who.Same(server) {
			err = call.ErrOther
		}
		if err != nil {
			discard(tx)
			return err
		}
		return send(tx, tx.Pipeline(), s)
	})
	n.failed(c, err)
	if errors.Is(err, call.ErrOther) {
		n.leave()
	}
	s.finish(err)
}

// takePlace waits until few enough dedicated pipelines are under way.
func (n *node) takePlace(ctx context.Context, c *clients) error {
	select {
	case c.places <- struct{}{}:
		return nil
	case <-n.life.Done():
		return call.ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w, behind %d other calls", call.Ended(ctx), cap(c.places))
	}
}

// leftover is by how much the socket's deadline is later than the call's, which says what it means.
const leftover = 500 * time.Millisecond

// remaining is the socket's timeout for a call that only ctx bounds; none without a deadline.
func remaining(ctx context.Context) time.Duration {
	deadline, dated := ctx.Deadline()
	if !dated {
		return 0
	}
	return max(0, time.Until(deadline)) + leftover
}

package single

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

const (
	// maxDedicated is the number of dedicated links. A call that finds all of them in use
	// waits.
	maxDedicated = 8
	// dedicatedIdle is how long an idle one is kept for the next call.
	dedicatedIdle = 5 * time.Second
)

// pool has the links for dedicated pipelines: made on demand, used by one call at a time,
// kept for a while. They do not use their queues: a call that ends before its replies are
// there closes the link. The contexts of these calls can always end, so rueidis reads on a
// goroutine of its own from the first call on. A connection that breaks while it is idle is
// therefore known to be broken.
type pool struct {
	places chan struct{} // a token for each call that has a dedicated link, or makes one

	// Guarded by Driver.mu.
	idle []*link // the one used last at the end
	busy map[*link]struct{}
}

// DedicatedPipeline sends the commands on one connection of a pool of 8. The command
// timeout bounds the making of a connection. Only ctx bounds the wait for a place in the
// pool and for the replies. See driver.Driver.
func (d *Driver) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), d.options.notSent(err))
	}
	ctx, cancel := endingWith(ctx, d.life)
	defer cancel()
	if err := d.enterPool(ctx); err != nil {
		return call.FailAll(len(commands), d.options.notSent(err))
	}
	defer d.leavePool()
	for {
		l := d.takeIdle()
		isNew := l == nil
		if isNew {
			var err error
			if l, err = d.newDedicated(ctx); err != nil {
				return call.FailAll(len(commands), d.unreachable(ctx, err))
			}
		}
		if replies := d.exec(ctx, l, commands); replies[0].Err != errGone {
			return replies
		}
		if isNew {
			return call.FailAll(len(commands), d.unreachable(ctx, errGone))
		}
	}
}

// enterPool waits for a place. A call with a place is part of the driver's work.
func (d *Driver) enterPool(ctx context.Context) error {
	select {
	case d.pool.places <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w, behind %d other calls", call.Ended(ctx), maxDedicated)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		<-d.pool.places
		return call.ErrClosed
	}
	d.work.Add(1)
	return nil
}

func (d *Driver) leavePool() {
	<-d.pool.places
	d.work.Done()
}

// takeIdle takes an idle link out of the pool, nil if there is none.
func (d *Driver) takeIdle() *link {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.pool.idle) - 1
	if last < 0 {
		return nil
	}
	l := d.pool.idle[last]
	d.pool.idle = d.pool.idle[:last]
	d.pool.busy[l] = struct{}{}
	l.expiry.Stop()
	return l
}

// newDedicated makes a link that Drop finds.
func (d *Driver) newDedicated(ctx context.Context) (*link, error) {
	generation, err := d.beside(ctx)
	if err != nil {
		return nil, err
	}
	options := d.options
	options.slow, options.Accept = true, nil // the link leads to the same server
	dial := func(ctx context.Context) (*link, error) { return newLink(ctx, options) }
	return attempt(ctx, d, generation, dial, func(l *link) error {
		l.generation = generation
		err := d.join(generation, l.server)
		if err == nil {
			d.pool.busy[l] = struct{}{}
		}
		return err
	})
}

// exec sends the commands, and keeps the link for others if all of them were
// answered. The errors are errGone itself if it did not take the commands.
func (d *Driver) exec(ctx context.Context, l *link, commands []driver.Command) []driver.Reply {
	results := l.client.DoMulti(call.Undated(ctx), batch(l, commands)...)
	replies := d.replies(ctx, l, results)
	unanswered := func(result rueidis.RedisResult) bool { return result.NonRedisError() != nil }
	d.putBack(l, !slices.ContainsFunc(results, unanswered))
	return replies
}

// putBack puts a link back into the pool, or closes it if it is of no use any more.
func (d *Driver) putBack(l *link, whole bool) {
	d.mu.Lock()
	delete(d.pool.busy, l)
	keep := whole && l.generation.Err() == nil
	if keep {
		l.expiry = time.AfterFunc(dedicatedIdle, func() { d.expire(l) })
		d.pool.idle = append(d.pool.idle, l)
	}
	d.mu.Unlock()
	if !keep {
		l.close()
	}
}

// expire closes a link that nobody has used for a while.
func (d *Driver) expire(l *link) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := slices.Index(d.pool.idle, l); at >= 0 { // or a call has taken it at the last moment
		d.pool.idle = slices.Delete(d.pool.idle, at, at+1)
		d.work.Go(l.close)
	}
}

// clearPool closes the idle links. It breaks those in use: their calls end with an error, and
// close them. It needs d.mu.
func (d *Driver) clearPool() {
	for _, l := range d.pool.idle {
		l.expiry.Stop()
		d.work.Go(l.close)
	}
	d.pool.idle = nil
	for l := range d.pool.busy {
		l.conn.Close()
	}
}

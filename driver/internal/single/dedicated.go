package single

import (
	"context"
	"fmt"
	"slices"
	"time"

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
// kept for a while.
type pool struct {
	places chan struct{} // a token for each call that has a dedicated link, or makes one

	// Guarded by Driver.mu.
	idle []*dedicated // the one used last at the end
	busy map[*dedicated]struct{}
}

// dedicated is one such link. It needs no queue: a call that ends before its
// replies are there closes the link. The contexts of these calls can always end, so
// rueidis reads on a goroutine of its own from the first call on. A
// connection that breaks while it is idle is therefore known to be broken.
type dedicated struct {
	*link
	expiry *time.Timer // of one that is idle
}

func newPool() pool {
	return pool{places: make(chan struct{}, maxDedicated), busy: make(map[*dedicated]struct{})}
}

// DedicatedPipeline sends the commands on one connection of a pool of 8. The command
// timeout bounds the making of a connection. Only ctx bounds the wait for a place in the
// pool and for the replies. See driver.Driver.
func (d *Driver) DedicatedPipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), d.settings.notSent(err))
	}
	ctx, cancel := endingWith(ctx, d.life)
	defer cancel()
	if err := d.enterPool(ctx); err != nil {
		return call.FailAll(len(commands), d.settings.notSent(err))
	}
	defer d.leavePool()
	for l := d.takeIdle(); l != nil; l = d.takeIdle() {
		if replies := d.exec(ctx, l, commands); replies[0].Err != errGone {
			return replies
		}
	}
	l, err := d.newDedicated(ctx)
	if err != nil {
		return call.FailAll(len(commands), d.unreachable(ctx, err))
	}
	replies := d.exec(ctx, l, commands)
	if replies[0].Err == errGone {
		return call.FailAll(len(commands), d.unreachable(ctx, errGone))
	}
	return replies
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
	if d.closed {
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
func (d *Driver) takeIdle() *dedicated {
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

// newDedicated connects.
func (d *Driver) newDedicated(ctx context.Context) (*dedicated, error) {
	generation, attempt, cancel := d.attempt(ctx)
	defer cancel()
	settings := d.settings
	settings.slow = true
	link, err := newLink(attempt, settings)
	if err != nil {
		return nil, refusal(err)
	}
	link.generation = generation
	l := &dedicated{link: link}
	if !d.register(l) {
		l.close()
		return nil, call.Ended(generation)
	}
	return l, nil
}

// register makes a link one that Drop finds, unless its generation is over already.
func (d *Driver) register(l *dedicated) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l.generation.Err() != nil {
		return false
	}
	d.pool.busy[l] = struct{}{}
	return true
}

// exec sends the commands, and keeps the link for others if all of them were
// answered. The errors are errGone itself if it did not take the commands.
func (d *Driver) exec(ctx context.Context, l *dedicated, commands []driver.Command) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	whole := true
	for i, result := range l.client.DoMulti(withoutDeadline(ctx), batch(l.link, commands)...) {
		if err := result.NonRedisError(); err != nil {
			whole = false
			replies[i].Err = d.execFailed(ctx, l, err)
		} else {
			replies[i] = d.reply(l.link, result)
		}
	}
	d.putBack(l, whole)
	return replies
}

// execFailed explains why a command got no reply.
func (d *Driver) execFailed(ctx context.Context, l *dedicated, err error) error {
	switch over := ctx.Err(); {
	case err == errGone:
		return errGone
	case over != nil && err == over:
		return d.settings.unknown(call.Ended(ctx))
	case l.generation.Err() != nil:
		return d.settings.unknown(call.Ended(l.generation))
	}
	return d.settings.unknown(call.NotOfCaller(err))
}

// putBack puts a link back into the pool, or closes it if it is of no use any more.
func (d *Driver) putBack(l *dedicated, whole bool) {
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
func (d *Driver) expire(l *dedicated) {
	d.mu.Lock()
	at := slices.Index(d.pool.idle, l)
	if at < 0 {
		d.mu.Unlock()
		return // a call has taken it at the last moment
	}
	d.pool.idle = slices.Delete(d.pool.idle, at, at+1)
	d.work.Add(1)
	d.mu.Unlock()
	defer d.work.Done()
	l.close()
}

// clearPool takes the idle links out, for the caller to close. It breaks those in
// use: their calls end with an error, and close them. It needs d.mu.
func (d *Driver) clearPool() []*dedicated {
	idle := d.pool.idle
	d.pool.idle = nil
	for _, l := range idle {
		l.expiry.Stop()
	}
	for l := range d.pool.busy {
		l.conn.Close()
	}
	return idle
}

package counter

import (
	"context"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Latch is a count that opens a latch when it is zero.
type Latch struct {
	named
	calls script.Latch
}

// Latch refers to the latch of a name.
func (c *Counters) Latch(name string) Latch {
	calls := script.NewLatch(c.manager.Key(name), c.manager.Messages)
	return Latch{c.named(name, calls.Key, calls.Channel, waitqueue.Key(calls.Channel, calls.Key)), calls}
}

// TrySet closes the latch with a count, if it is open.
func (l Latch) TrySet(ctx context.Context, count int) (bool, error) {
	return l.trySet(ctx, "set count of", func(r script.Request) script.Call { return l.calls.Set(count, r) })
}

// CountDown lowers the count by one.
func (l Latch) CountDown(ctx context.Context) error {
	const verb = "count down"
	result, err := l.finish(ctx, verb, l.calls.CountDown, func() {})
	left, err := answer(ctx, l.named, verb, result, err, script.ReadCountedDown)
	if err == nil && left == 0 {
		l.manager.Queues().Wake(l.queue, nil)
	}
	return err
}

// Count is how often the latch has to be counted down.
func (l Latch) Count(ctx context.Context) (int, error) {
	n, err := l.count(ctx, "count of", l.calls.Read())
	return max(n, 0), err
}

const waiting = "wait for"

// Wait waits until the latch is open, or ctx ends.
func (l Latch) Wait(ctx context.Context) error {
	if err := l.enter(waiting, (*lock.Manager).Enter); err != nil {
		return err
	}
	defer l.manager.Leave()
	if ctx.Err() != nil {
		return l.notAcquired(ctx, waiting)
	}
	ctx, end := pause.Bound(ctx)
	defer end()
	w := l.manager.Queues().JoinShared(l.queue, seen(false), false)
	w.Deadline, _ = ctx.Deadline()
	defer w.Leave()
	over, err := w.Wait(ctx, func(next waitqueue.Step) (over bool, err error) {
		told, _ := next.Result.(seen)
		open := bool(told)
		if next.Try {
			open, err = l.askFor(ctx, w.Batch())
		}
		if !open && err == nil {
			w.Tried(l.nap())
		}
		return open || err != nil, err
	})
	if !over {
		err = l.unanswered(ctx, waiting)
	}
	return err
}

// seen says whether the latch was open when somebody asked for a waiter.
type seen bool

// askFor asks whether the latch is open, and tells all who wait already.
func (l Latch) askFor(ctx context.Context, batch []*waitqueue.Waiter) (open bool, err error) {
	n, err := l.count(ctx, waiting, l.calls.Read())
	open = err == nil && n <= 0
	for _, w := range batch {
		w.Complete(seen(open), open)
	}
	if err != nil && ctx.Err() != nil {
		err = l.notAcquired(ctx, waiting)
	}
	return open, err
}

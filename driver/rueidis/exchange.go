package rueidis

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// crowd is the number of places in rueidis' queue that callers may take
// without a second thought. There are 1024, and whoever finds none waits for
// one without looking at its context. Some are left for rueidis' own PINGs.
const crowd = 1000

// exchange has rueidis send one command, and returns when the result is there
// or ctx has ended.
func (d *Driver) exchange(ctx context.Context, link *link, command rueidis.Completed) rueidis.RedisResult {
	if link.queued.Add(1) > crowd && ctx.Done() != nil {
		return apart(ctx, d, link, rueidis.NewErrorResult, func() rueidis.RedisResult {
			return link.client.Do(patient(ctx), command)
		})
	}
	result := link.client.Do(patient(ctx), command)
	d.leave(ctx, link)
	return result
}

// exchangeAll does for several commands what exchange does for one.
func (d *Driver) exchangeAll(ctx context.Context, link *link, batch []rueidis.Completed) []rueidis.RedisResult {
	if link.queued.Add(1) > crowd && ctx.Done() != nil {
		failed := func(err error) []rueidis.RedisResult {
			results := make([]rueidis.RedisResult, len(batch))
			for i := range results {
				results[i] = rueidis.NewErrorResult(err)
			}
			return results
		}
		return apart(ctx, d, link, failed, func() []rueidis.RedisResult {
			return link.client.DoMulti(patient(ctx), batch...)
		})
	}
	results := link.client.DoMulti(patient(ctx), batch...)
	d.leave(ctx, link)
	return results
}

// apart runs send on a goroutine of its own, so that the caller can go when
// ctx ends while send still waits for a place in the queue.
func apart[R any](ctx context.Context, d *Driver, link *link, failed func(error) R, send func() R) R {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		link.queued.Add(-1)
		return failed(errGone)
	}
	result := make(chan R, 1)
	d.work.Go(func() {
		result <- send()
		d.leave(ctx, link)
	})
	d.mu.Unlock()
	select {
	case r := <-result:
		return r
	case <-ctx.Done():
		return failed(ctx.Err())
	}
}

// leave gives the place in the queue back. A call that ended with its context
// leaves its command behind in there, until the reply comes or the connection
// ends: within the command timeout.
func (d *Driver) leave(ctx context.Context, link *link) {
	if ctx.Done() == nil || ctx.Err() == nil {
		link.queued.Add(-1)
		return
	}
	time.AfterFunc(d.options.CommandTimeout, func() { link.queued.Add(-1) })
}

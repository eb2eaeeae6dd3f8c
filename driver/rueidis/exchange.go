package rueidis

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// places is the number of calls that may be in rueidis' queue at a time. The
// queue has 1024, and whoever finds it full waits there without looking at its
// context. That wait is made here instead; the rest is for the sweeper and for
// rueidis' own PINGs.
const places = 1000

// queue counts the calls that a link has in rueidis' queue.
//
// A call that ends with its context leaves its command behind there, until the
// reply comes. Its place is given back by the sweeper, a goroutine that exists
// while there are such calls: it sends a PING, and since replies come in the
// order of the commands, the answer says that everything before it is done.
type queue struct {
	taken chan struct{} // a token for each place taken
	gone  chan struct{} // closed when the link is
	left  atomic.Int64  // places that were given back, ever

	// Guarded by Driver.mu.
	abandoned int
	sweeping  bool
}

func newQueue() *queue {
	return &queue{taken: make(chan struct{}, places), gone: make(chan struct{})}
}

// tryEnter takes a place if there is one.
func (q *queue) tryEnter() bool {
	select {
	case q.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// enter waits for a place. The error is errGone, or why ctx ended.
func (q *queue) enter(ctx context.Context) error {
	select {
	case q.taken <- struct{}{}:
		return nil
	case <-q.gone:
		return errGone
	case <-ctx.Done():
		return ended(ctx)
	}
}

// leave gives n places back.
func (q *queue) leave(n int) {
	q.left.Add(int64(n))
	for range n {
		<-q.taken
	}
}

// exchange has rueidis send one command, and returns when the result is there
// or ctx has ended. The caller has entered the queue; exchange leaves it.
func (d *Driver) exchange(ctx context.Context, link *link, command rueidis.Completed) rueidis.RedisResult {
	result := link.client.Do(patient(ctx), command)
	d.finish(ctx, link, result.NonRedisError())
	return result
}

// exchangeAll does for several commands what exchange does for one.
func (d *Driver) exchangeAll(ctx context.Context, link *link, batch []rueidis.Completed) []rueidis.RedisResult {
	results := link.client.DoMulti(patient(ctx), batch...)
	d.finish(ctx, link, results[0].NonRedisError())
	return results
}

// finish leaves the queue, or leaves that to the sweeper.
func (d *Driver) finish(ctx context.Context, link *link, err error) {
	if err == nil || err != ctx.Err() {
		link.queue.leave(1)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	link.queue.abandoned++
	if !link.queue.sweeping && !d.closed {
		link.queue.sweeping = true
		d.work.Go(func() { d.sweep(link) })
	}
}

// sweep gives back the places of abandoned calls until there are none, or the
// link has gone.
func (d *Driver) sweep(link *link) {
	for n := d.abandoned(link); n > 0; n = d.abandoned(link) {
		pong := link.client.Do(context.Background(), link.client.B().Ping().Build())
		if err := pong.NonRedisError(); err != nil {
			d.lose(link, err)
			return
		}
		link.queue.leave(n)
	}
}

// abandoned takes over the calls abandoned so far. With none, sweeping ends.
func (d *Driver) abandoned(link *link) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, link.queue.abandoned = link.queue.abandoned, 0
	link.queue.sweeping = n > 0
	return n
}

package single

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// places is the number of calls that may be in the queue of rueidis at a time. That
// queue has 1024 places, and a caller that finds it full waits there without regard to its
// context. That wait happens here instead; the remaining places are for reclaim and for the
// PINGs of rueidis.
const places = 1000

// queue counts the calls that a link has in the queue of rueidis.
//
// A call that ends with its context leaves its command behind there, until the
// reply comes. A goroutine, reclaim, gives its place back. It exists
// while there are such calls: it sends a PING, and since replies come in the
// order of the commands, the answer says that everything before it is done.
type queue struct {
	taken chan struct{} // a token for each place taken
	gone  chan struct{} // closed when the link is
	left  atomic.Int64  // places that were given back, ever

	// Guarded by Driver.mu.
	abandoned  int
	reclaiming bool
}

// len is the number of calls under way.
func (q *queue) len() int { return len(q.taken) }

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
		return call.Ended(ctx)
	}
}

// leave gives n places back.
func (q *queue) leave(n int) {
	q.left.Add(int64(n))
	for range n {
		<-q.taken
	}
}

// leave leaves the queue after a call with this result, the first if it has several. For a
// call that left its command behind, it has reclaim do so.
func (d *Driver) leave(ctx context.Context, link *link, result rueidis.RedisResult) {
	if err := result.NonRedisError(); err == nil || err != ctx.Err() {
		link.queue.leave(1)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	link.queue.abandoned++
	if !link.queue.reclaiming && d.life.Err() == nil {
		link.queue.reclaiming = true
		d.work.Go(func() { d.reclaim(link) })
	}
}

// reclaim gives back the places of abandoned calls until there are none, or the
// link has gone.
func (d *Driver) reclaim(link *link) {
	for n := d.abandoned(link); n > 0; n = d.abandoned(link) {
		pong := link.client.Do(context.Background(), link.client.B().Ping().Build())
		if err := pong.NonRedisError(); err != nil {
			d.lose(link, err)
			return
		}
		link.queue.leave(n)
	}
}

// abandoned takes over the calls abandoned so far. If there are none, reclaim ends.
func (d *Driver) abandoned(link *link) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, link.queue.abandoned = link.queue.abandoned, 0
	link.queue.reclaiming = n > 0
	return n
}

package single

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
)

var _ driver.Bounded = (*Driver)(nil)

// Driver is the connection to one Redis server.
type Driver struct {
	options Options
	// life ends when Close begins, under mu.
	life context.Context
	end  context.CancelCauseFunc
	// work counts the driver's goroutines. It is added to under mu, and only
	// while the driver is open.
	work sync.WaitGroup

	// link is nil while there is no connection. It is written under mu.
	link atomic.Pointer[link]
	pool pool

	mu sync.Mutex
	// generation is all connections that are made to the same server. It is a context, below
	// life, so that its end, by cut, also ends the attempts to connect that began in it. An
	// attempt that succeeds at the same moment is checked again, under mu, before its
	// connection is used. So after Drop has returned, no connection is used whose address was
	// asked for before.
	generation context.Context
	cut        context.CancelCauseFunc
	server     call.Identity // of the latest link; every other connection leads there
	outage     *outage       // while there is no link
	broken     pause.Backoff // after connections that broke soon; only part uses it
	spared     time.Time     // until then, a read-only server is not connected to again
	listeners  map[*listener]struct{}
}

// Open is documented in package rueidis.
func Open(ctx context.Context, options Options) (*Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	d := &Driver{options: options, listeners: make(map[*listener]struct{})}
	d.broken = pause.Backoff{First: 2 * call.FirstPause, Max: brokenPause}
	d.pool = pool{places: make(chan struct{}, maxDedicated), busy: make(map[*link]struct{})}
	d.life, d.end = context.WithCancelCause(context.Background())
	d.generation, d.cut = context.WithCancelCause(d.life)
	if err := d.connect(ctx, d.generation); err != nil {
		explained := fmt.Errorf("connect to redis %s: %w", options.Address, err)
		if options.Tolerate == nil || ctx.Err() != nil || !options.Tolerate(explained) {
			return nil, explained
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.interrupt(nil, err)
	}
	return d, nil
}

// OpenPrimary is Open for a primary whose address may change. It calls resolve for the
// address of each connection; resolve must end with its ctx. It refuses a server that
// calls itself a replica. Options.Address is only the server's name in errors.
func OpenPrimary(ctx context.Context, options Options, resolve func(context.Context) (address string, err error)) (*Driver, error) {
	options.resolve = resolve
	return Open(ctx, options)
}

// CommandTimeout is the time within which every call ends by itself, except
// DedicatedPipeline. See driver.Bounded.
func (d *Driver) CommandTimeout() time.Duration { return d.options.CommandTimeout }

// RunID is that of the server of the latest link. See driver.Identified.
func (d *Driver) RunID() (run string, moves int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.server.RunID()
}

// Do sends one command. See driver.Driver.
func (d *Driver) Do(ctx context.Context, command driver.Command) driver.Reply {
	if err := call.Check(ctx, command); err != nil {
		return driver.Reply{Err: d.options.notSent(err)}
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if reply := d.do(ctx, link, command); reply.Err != errGone {
			return reply
		}
	}
	return d.doLater(ctx, command)
}

// doLater is Do if there was no link, or no place in its queue. It is a function of its own, which
// keeps Do small.
func (d *Driver) doLater(ctx context.Context, command driver.Command) driver.Reply {
	return d.pipelineLater(ctx, []driver.Command{command})[0]
}

// Pipeline sends the commands in one write. See driver.Driver.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), d.options.notSent(err))
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if replies := d.pipeline(ctx, link, commands); replies[0].Err != errGone {
			return replies
		}
	}
	return d.pipelineLater(ctx, commands)
}

// DoTwo is Pipeline for two commands. It takes less memory.
func (d *Driver) DoTwo(ctx context.Context, one, two driver.Command) (driver.Reply, driver.Reply) {
	if link := d.link.Load(); link != nil && call.Check(ctx, one, two) == nil && link.queue.tryEnter() {
		both := pairs.Get().(*[2]rueidis.Completed)
		both[0], both[1] = arbitrary(link.client, one), arbitrary(link.client, two)
		results := link.client.DoMulti(call.Undated(ctx), both[:]...)
		d.leave(ctx, link, results[0])
		first, second := d.reply(ctx, link, results[0]), d.reply(ctx, link, results[1])
		if results[0].NonRedisError() == nil && results[1].NonRedisError() == nil {
			pairs.Put(both) // rueidis is done with them
		}
		if first.Err != errGone {
			return first, second
		}
	}
	replies := d.Pipeline(ctx, one, two)
	return replies[0], replies[1]
}

// pairs are of *[2]rueidis.Completed.
var pairs = sync.Pool{New: func() any { return new([2]rueidis.Completed) }}

// Close ends the connections and waits for the driver's goroutines. Calls
// under way, and calls made afterwards, fail.
func (d *Driver) Close() {
	d.mu.Lock()
	d.end(call.ErrClosed)
	d.endGeneration(call.ErrClosed)
	link := d.link.Swap(nil)
	d.mu.Unlock()
	if link != nil {
		link.close()
	}
	d.work.Wait()
}

// pipelineLater is Pipeline if there was no link, or no place in its queue.
func (d *Driver) pipelineLater(ctx context.Context, commands []driver.Command) []driver.Reply {
	ctx, cancel := call.Bound(ctx, time.Now(), d.options.CommandTimeout)
	defer cancel()
	for {
		link, err := d.enterLink(ctx)
		if err != nil {
			return call.FailAll(len(commands), err)
		}
		if replies := d.pipeline(ctx, link, commands); replies[0].Err != errGone {
			return replies
		}
	}
}

// do sends a command over a link, whose queue the caller has entered. The error is
// errGone itself if the link did not take it.
func (d *Driver) do(ctx context.Context, link *link, command driver.Command) driver.Reply {
	result := link.client.Do(call.Undated(ctx), arbitrary(link.client, command))
	d.leave(ctx, link, result)
	return d.reply(ctx, link, result)
}

// pipeline does for several commands what do does for one. Either all errors
// are errGone, or none is.
func (d *Driver) pipeline(ctx context.Context, link *link, commands []driver.Command) []driver.Reply {
	results := link.client.DoMulti(call.Undated(ctx), batch(link, commands)...)
	d.leave(ctx, link, results[0])
	return d.replies(ctx, link, results)
}

// batch builds commands for a link.
func batch(link *link, commands []driver.Command) []rueidis.Completed {
	batch := make([]rueidis.Completed, len(commands))
	for i, command := range commands {
		batch[i] = arbitrary(link.client, command)
	}
	return batch
}

func (d *Driver) replies(ctx context.Context, link *link, results []rueidis.RedisResult) []driver.Reply {
	replies := make([]driver.Reply, len(results))
	for i, result := range results {
		replies[i] = d.reply(ctx, link, result)
	}
	return replies
}

// reply converts what the server said on a link, and reacts to a failure or a refusal.
func (d *Driver) reply(ctx context.Context, link *link, result rueidis.RedisResult) driver.Reply {
	if err := result.NonRedisError(); err != nil {
		return driver.Reply{Err: d.failed(ctx, link, err)}
	}
	reply := convert(result)
	if reply.Err != nil {
		reply.Err = d.refused(link, reply.Err)
	}
	return reply
}

// failed explains why a command got no reply. It gives up the link, unless the caller's
// own ctx is the reason.
func (d *Driver) failed(ctx context.Context, link *link, err error) error {
	if over := ctx.Err(); over != nil && err == over {
		return d.options.unknown(call.Ended(ctx))
	}
	d.lose(link, err)
	if err == errGone {
		return errGone
	}
	if over := call.Ended(link.generation); over != nil {
		return d.options.unknown(over)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.options.unknown(pause.NotOfCaller(link.reason)) // the first: err may be no more than its result
}

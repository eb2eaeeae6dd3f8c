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
)

var _ driver.Bounded = (*Driver)(nil)

// Driver is the connection to one Redis server.
type Driver struct {
	settings settings
	// life ends when Close begins.
	life context.Context
	end  context.CancelCauseFunc
	// work counts the driver's goroutines. It is added to under mu, and only
	// while the driver is open.
	work sync.WaitGroup

	// link is nil while there is no connection. It is written under mu.
	link atomic.Pointer[link]
	pool pool

	mu         sync.Mutex
	closed     bool
	generation generation
	outage     *outage       // while there is no link
	pause      time.Duration // before the next attempt to connect; only reconnect uses it
	spared     time.Time     // until then, a read-only server is not connected to again
	listeners  map[*listener]struct{}
}

// Open is documented in package rueidis.
func Open(ctx context.Context, options Options) (*Driver, error) {
	return open(ctx, settings{Options: options})
}

// OpenPrimary is Open for a primary whose address may change. It calls resolve for the
// address of each connection; resolve must end with its ctx. It refuses a server that
// calls itself a replica. Options.Address is only the server's name in errors.
func OpenPrimary(ctx context.Context, options Options, resolve func(context.Context) (address string, err error)) (*Driver, error) {
	return open(ctx, settings{Options: options, resolve: resolve, primary: true})
}

func open(ctx context.Context, s settings) (_ *Driver, err error) {
	if s.Options, err = s.complete(); err != nil {
		return nil, err
	}
	attempt, cancel := s.bounded(ctx)
	defer cancel()
	first, err := newLink(attempt, s)
	if err != nil {
		return nil, fmt.Errorf("connect to redis %s: %w", s.Address, refusal(err))
	}
	d := &Driver{settings: s, pause: call.FirstPause, pool: newPool(), listeners: make(map[*listener]struct{})}
	d.life, d.end = context.WithCancelCause(context.Background())
	d.generation = newGeneration(d.life)
	first.generation = d.generation.Context
	d.link.Store(first)
	d.work.Go(func() { d.watch(first) })
	return d, nil
}

// CommandTimeout is the time within which every call ends by itself, except
// DedicatedPipeline. See driver.Bounded.
func (d *Driver) CommandTimeout() time.Duration { return d.settings.CommandTimeout }

// Do sends one command. See driver.Driver.
func (d *Driver) Do(ctx context.Context, command driver.Command) driver.Reply {
	if err := call.Check(ctx, command); err != nil {
		return driver.Reply{Err: d.settings.notSent(err)}
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if reply := d.do(ctx, link, command); reply.Err != errGone {
			return reply
		}
	}
	return d.pipelineLater(ctx, []driver.Command{command})[0]
}

// Pipeline sends the commands in one write. See driver.Driver.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := call.Check(ctx, commands...); err != nil {
		return call.FailAll(len(commands), d.settings.notSent(err))
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if replies := d.pipeline(ctx, link, commands); replies[0].Err != errGone {
			return replies
		}
	}
	return d.pipelineLater(ctx, commands)
}

// Close ends the connections and waits for the driver's goroutines. Calls
// under way, and calls made afterwards, fail.
func (d *Driver) Close() {
	d.mu.Lock()
	d.closed = true
	link := d.link.Swap(nil)
	listeners := make([]*listener, 0, len(d.listeners))
	for l := range d.listeners {
		listeners = append(listeners, l)
	}
	idle := d.clearPool()
	d.mu.Unlock()

	d.end(call.ErrClosed)
	if link != nil {
		link.close()
	}
	for _, l := range idle {
		l.close()
	}
	for _, l := range listeners {
		l.Close()
	}
	d.work.Wait()
}

// pipelineLater is Pipeline if there was no link, or no place in its queue.
func (d *Driver) pipelineLater(ctx context.Context, commands []driver.Command) []driver.Reply {
	ctx, cancel := d.settings.bounded(ctx)
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
	result := d.exchange(ctx, link, link.client.B().Arbitrary(command.Words...).Build())
	if err := result.NonRedisError(); err != nil {
		return driver.Reply{Err: d.failed(ctx, link, err)}
	}
	return d.reply(link, result)
}

// pipeline does for several commands what do does for one. Either all errors
// are errGone, or none is.
func (d *Driver) pipeline(ctx context.Context, link *link, commands []driver.Command) []driver.Reply {
	results := d.exchangeAll(ctx, link, batch(link, commands))
	replies := make([]driver.Reply, len(commands))
	for i, result := range results {
		if err := result.NonRedisError(); err != nil {
			replies[i].Err = d.failed(ctx, link, err)
		} else {
			replies[i] = d.reply(link, result)
		}
	}
	return replies
}

// batch builds commands for a link.
func batch(link *link, commands []driver.Command) []rueidis.Completed {
	batch := make([]rueidis.Completed, len(commands))
	for i, command := range commands {
		batch[i] = link.client.B().Arbitrary(command.Words...).Build()
	}
	return batch
}

// reply converts what the server said on a link, and reacts to a refusal.
func (d *Driver) reply(link *link, result rueidis.RedisResult) driver.Reply {
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
		return d.settings.unknown(call.Ended(ctx))
	}
	d.lose(link, err)
	if err == errGone {
		return errGone
	}
	if d.life.Err() != nil {
		return d.settings.unknown(call.ErrClosed)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settings.unknown(call.NotOfCaller(link.reason)) // the first: err may be no more than its result
}

package rueidis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
)

var _ driver.Driver = (*Driver)(nil)

// Driver is the connection to one Redis server.
type Driver struct {
	options Options
	// life ends when Close begins.
	life context.Context
	end  context.CancelCauseFunc
	// work counts the driver's goroutines. It is added to under mu, and only
	// while the driver is open.
	work sync.WaitGroup

	// link is nil while there is no connection. It is written under mu.
	link atomic.Pointer[link]

	yard yard

	mu        sync.Mutex
	closed    bool
	era       era
	outage    *outage       // of the time without a link
	pause     time.Duration // before the next attempt to connect; mend's own
	renewal   time.Time     // no earlier are connections made anew because of a read-only server
	listeners map[*listener]struct{}
}

// Open connects to the server, logs in and waits for the answer to a PING. It
// ends with ctx, or when the command timeout has passed. Where the server
// refuses, the error is, or wraps, a *driver.ServerError. Nothing is left
// behind by an Open that failed.
func Open(ctx context.Context, options Options) (*Driver, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	attempt, cancel := options.bounded(ctx)
	defer cancel()
	first, err := newLink(attempt, options)
	if err != nil {
		return nil, fmt.Errorf("connect to redis %s: %w", options.Address, refusal(err))
	}
	d := &Driver{options: options, pause: firstPause, yard: newYard(), listeners: make(map[*listener]struct{})}
	d.life, d.end = context.WithCancelCause(context.Background())
	d.era = newEra(d.life)
	first.era = d.era.Context
	d.link.Store(first)
	d.work.Go(func() { d.watch(first) })
	return d, nil
}

// Do sends one command. See driver.Driver.
func (d *Driver) Do(ctx context.Context, command driver.Command) driver.Reply {
	if err := sendable(command); err != nil {
		return driver.Reply{Err: d.options.notSent(err)}
	}
	if err := ctx.Err(); err != nil {
		return driver.Reply{Err: d.options.notSent(err)}
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if reply := d.do(ctx, link, command); reply.Err != errGone {
			return reply
		}
	}
	return d.doLater(ctx, command)
}

// Pipeline sends the commands in one write. See driver.Driver.
func (d *Driver) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := unsendable(ctx, commands); err != nil {
		return failAll(len(commands), d.options.notSent(err))
	}
	if link := d.link.Load(); link != nil && link.queue.tryEnter() {
		if replies := d.pipeline(ctx, link, commands); replies[0].Err != errGone {
			return replies
		}
	}
	return d.pipelineLater(ctx, commands)
}

// CommandTimeout is the time within which every call ends by itself. Whoever
// needs no shorter one can do without a timer of its own.
func (d *Driver) CommandTimeout() time.Duration { return d.options.CommandTimeout }

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
	idle := d.clearYard()
	d.mu.Unlock()

	d.end(errClosed)
	if link != nil {
		link.close()
	}
	for _, s := range idle {
		s.close()
	}
	for _, l := range listeners {
		l.Close()
	}
	d.work.Wait()
}

// do sends a command over one link, whose queue has been entered. The error is
// errGone, bare, if the link did not take it.
func (d *Driver) do(ctx context.Context, link *link, command driver.Command) driver.Reply {
	result := d.exchange(ctx, link, link.client.B().Arbitrary(command.Words...).Build())
	if err := result.NonRedisError(); err != nil {
		return driver.Reply{Err: d.failed(ctx, link, err)}
	}
	reply := convert(result)
	if reply.Err != nil {
		reply.Err = d.heed(link, reply.Err)
	}
	return reply
}

// pipeline does for several commands what do does for one. Either all errors
// are errGone, or none is.
func (d *Driver) pipeline(ctx context.Context, link *link, commands []driver.Command) []driver.Reply {
	batch := make([]rueidis.Completed, len(commands))
	for i, command := range commands {
		batch[i] = link.client.B().Arbitrary(command.Words...).Build()
	}
	results := d.exchangeAll(ctx, link, batch)
	replies := make([]driver.Reply, len(commands))
	for i, result := range results {
		if err := result.NonRedisError(); err != nil {
			replies[i].Err = d.failed(ctx, link, err)
		} else if replies[i] = convert(result); replies[i].Err != nil {
			replies[i].Err = d.heed(link, replies[i].Err)
		}
	}
	return replies
}

// doLater is Do where there was no link, or no place in its queue.
func (d *Driver) doLater(ctx context.Context, command driver.Command) driver.Reply {
	ctx, cancel := d.options.bounded(ctx)
	defer cancel()
	for {
		link, err := d.enterLink(ctx)
		if err != nil {
			return driver.Reply{Err: err}
		}
		if reply := d.do(ctx, link, command); reply.Err != errGone {
			return reply
		}
	}
}

// pipelineLater is Pipeline where there was no link, or no place in its queue.
func (d *Driver) pipelineLater(ctx context.Context, commands []driver.Command) []driver.Reply {
	ctx, cancel := d.options.bounded(ctx)
	defer cancel()
	for {
		link, err := d.enterLink(ctx)
		if err != nil {
			return failAll(len(commands), err)
		}
		if replies := d.pipeline(ctx, link, commands); replies[0].Err != errGone {
			return replies
		}
	}
}

// failed explains why a command got no reply. Unless the caller's own ctx is
// the reason, the link is given up.
func (d *Driver) failed(ctx context.Context, link *link, err error) error {
	if over := ctx.Err(); over != nil && err == over {
		return d.options.unknown(ended(ctx))
	}
	d.lose(link, err)
	if err == errGone {
		return errGone
	}
	if d.life.Err() != nil {
		return d.options.unknown(errClosed)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.options.unknown(foreign(link.reason)) // the first: err may be no more than its result
}

// failAll gives n commands one error.
func failAll(n int, err error) []driver.Reply {
	replies := make([]driver.Reply, n)
	for i := range replies {
		replies[i].Err = err
	}
	return replies
}

// unsendable says why commands cannot be sent, nil if they can.
func unsendable(ctx context.Context, commands []driver.Command) error {
	for _, command := range commands {
		if err := sendable(command); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sendable refuses what rueidis would panic over.
func sendable(command driver.Command) error {
	const subscribe = "SUBSCRIBE"
	if len(command.Words) == 0 || command.Words[0] == "" {
		return errors.New("command without a name")
	}
	name := command.Words[0]
	if at := len(name) - len(subscribe); at >= 0 && strings.EqualFold(name[at:], subscribe) {
		return fmt.Errorf("%s belongs on a listener", name)
	}
	return nil
}

package single

import (
	"context"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/random"
)

// listener is one connection for subscriptions, and the rueidis client around
// it, which has no other.
type listener struct {
	options   Options
	client    rueidis.Client
	dedicated rueidis.DedicatedClient
	conn      net.Conn
	server    call.Identity
	shard     *shard
	// silence is closed by rueidis when no event can follow.
	silence <-chan error
	// done is closed after that, when everything has been closed.
	done chan struct{}
}

// Listen opens a connection for subscriptions. See driver.Driver. An error
// matches driver.ErrNotSent, for nothing was asked of the server yet. A
// Listener must not be closed from within one of its events.
func (d *Driver) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, d.options.notSent(err)
	}
	dial := func(ctx context.Context) (*listener, error) { return newListener(ctx, d.options, events) }
	generation, err := d.beside(ctx)
	if err != nil {
		return nil, err
	}
	d.rest(ctx, generation, events.Message == nil)
	l, err := attempt(ctx, d, generation, dial, func(l *listener) error {
		err := d.join(generation, l.server)
		if err == nil {
			d.own(l)
		}
		return err
	})
	if err != nil {
		return nil, d.options.notSent(err)
	}
	return l, nil
}

// rest spreads the return of many clients over the time after an outage: first their links, then the listeners for
// messages, and last those that take none, for which nobody waits.
func (d *Driver) rest(ctx, generation context.Context, last bool) {
	link := d.link.Load()
	if link == nil {
		return
	}
	if left := time.Until(link.returning); left > 0 {
		wait := random.Below(left) * 2 / 3
		if last {
			wait = left/2 + random.Below(left)
		}
		ctx, cancel := endingWith(ctx, generation)
		defer cancel()
		_ = pause.For(ctx, wait)
	}
}

// own makes the listener end with the driver. Then the link is asked whether it works: if nobody calls, its end may go
// unnoticed until a listener is back, and the two would return together. It needs d.mu.
func (d *Driver) own(l *listener) {
	d.listeners[l] = struct{}{}
	d.work.Go(func() {
		l.finish()
		d.mu.Lock()
		delete(d.listeners, l)
		d.mu.Unlock()
		close(l.done)
		_ = d.Do(context.Background(), driver.Command{Words: []string{"PING"}})
	})
}

const (
	// listenerScale makes room for 64 requests under way. The 1024 of a link take 700 kB.
	listenerScale = 6
	// listenerBytes is the size of the read and write buffers: messages are short.
	listenerBytes = 8 << 10
)

// newListener connects and logs in. It ends with ctx, and leaves nothing
// behind when it fails.
func newListener(ctx context.Context, s Options, events driver.Events) (*listener, error) {
	socket := socket{options: s}
	options := s.client(&socket)
	// The reader must run from the start. Setting the hooks starts it as well,
	// but not if it happens in the middle of a PING of rueidis.
	options.AlwaysPipelining = true
	options.RingScaleEachConn, options.ReadBufferEachConn, options.WriteBufferEachConn = listenerScale, listenerBytes, listenerBytes
	// The client dials for commands at once, which is refused, and its error
	// ignored: the only connection wanted is the one that Dedicate makes.
	client, err := rueidis.NewClient(options)
	if client == nil {
		return nil, err
	}
	socket.allow(ctx)
	dedicated, _ := client.Dedicate()
	shard := &shard{leaving: make(map[string]int)}
	silence := dedicated.SetPubSubHooks(hooks(events, shard))
	var server call.Identity
	if socket.conn != nil {
		server = about(client, dedicated, socket.conn)
	}
	if err = socket.forbid(); err == nil {
		select {
		case err = <-silence: // Dedicate has no other way to report failure
		default:
		}
	}
	if err != nil {
		end(client, socket.conn)
		return nil, err
	}
	return &listener{
		options: s, client: client, dedicated: dedicated, conn: socket.conn, server: server,
		shard: shard, silence: silence, done: make(chan struct{}),
	}, nil
}

// hooks translates the events.
func hooks(events driver.Events, shard *shard) rueidis.PubSubHooks {
	return rueidis.PubSubHooks{
		OnMessage: func(message rueidis.PubSubMessage) {
			if events.Message != nil {
				events.Message(message.Channel, message.Message)
			}
		},
		OnSubscription: func(change rueidis.PubSubSubscription) {
			switch change.Kind {
			case "subscribe", "ssubscribe":
				if events.Subscribed != nil {
					events.Subscribed(change.Channel)
				}
			case "sunsubscribe":
				if !shard.ended(change.Channel) && events.Evicted != nil {
					events.Evicted(change.Channel)
				}
			}
		},
	}
}

// close is for a listener that was never used.
func (l *listener) close() {
	l.conn.Close()
	l.finish()
}

// finish waits for the connection's end and frees what belonged to it.
func (l *listener) finish() {
	for range l.silence {
	}
	l.conn.Close()
	l.dedicated.Close()
	l.client.Close()
}

// Subscribe asks for messages of the channels. It returns when the server has
// acknowledged the first of them, or refused all.
func (l *listener) Subscribe(ctx context.Context, channels ...string) error {
	return l.ask(ctx, channels, l.client.B().Subscribe().Channel(channels...).Build())
}

// Unsubscribe asks for no more messages of the channels, and returns when the
// server has obeyed.
func (l *listener) Unsubscribe(ctx context.Context, channels ...string) error {
	return l.ask(ctx, channels, l.client.B().Unsubscribe().Channel(channels...).Build())
}

// ask sends commands about channels together. It returns the outcome of the last.
func (l *listener) ask(ctx context.Context, channels []string, commands ...rueidis.Completed) error {
	if len(channels) == 0 {
		return nil // UNSUBSCRIBE alone would mean all of them
	}
	if err := ctx.Err(); err != nil {
		return l.options.notSent(err)
	}
	select {
	case <-l.done:
		return l.options.notSent(call.ErrListenerClosed)
	default:
	}
	results := l.dedicated.DoMulti(call.Undated(ctx), commands...)
	result := results[len(results)-1]
	if err := result.NonRedisError(); err != nil {
		if over := ctx.Err(); over != nil && err == over {
			return l.options.unknown(over)
		}
		return l.options.unknown(pause.NotOfCaller(err))
	}
	return convert(result).Err
}

// Done is closed when the connection is gone and the last event delivered.
func (l *listener) Done() <-chan struct{} { return l.done }

// Close ends the connection. No event is delivered after it has returned. It
// must not be called from within an event.
func (l *listener) Close() {
	l.conn.Close()
	<-l.done
}

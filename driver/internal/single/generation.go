package single

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// Drop closes all connections of a driver, those in the making included, and has new ones
// made, for which it resolves the address again. It is for a caller who knows that the
// address has changed. Commands under way end with an error that leaves their outcome open,
// and listeners with Listener.Done. The reason appears in errors. Drop does not block.
//
// It is no method, so that the drivers that embed a Driver do not export it.
func Drop(d *Driver, reason error) {
	cause := dropped(reason)
	d.mu.Lock()
	link := d.link.Load()
	d.endGeneration(cause)
	d.mu.Unlock()
	if link != nil {
		d.lose(link, cause)
	}
}

func dropped(reason error) call.Cause {
	return call.Cause(fmt.Sprintf("connection dropped: %v", reason))
}

// endGeneration closes everything but the link. It needs d.mu.
func (d *Driver) endGeneration(cause call.Cause) {
	d.cut(cause)
	d.generation, d.cut = context.WithCancelCause(d.life)
	for l := range d.listeners {
		l.conn.Close()
	}
	d.clearPool()
}

// present is the generation to which new connections belong.
func (d *Driver) present() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.generation
}

// attempt makes a connection, within the command timeout and a generation, and has use put it
// to its use under Driver.mu. It closes a connection whose generation has ended by then.
func attempt[C interface{ close() }](
	ctx context.Context, d *Driver, generation context.Context, dial func(context.Context) (C, error), use func(C),
) (made C, err error) {
	bounded, cancel := call.Bound(ctx, time.Now(), d.options.CommandTimeout)
	defer cancel()
	bounded, cancel = endingWith(bounded, generation)
	defer cancel()
	if made, err = dial(bounded); err != nil {
		return made, refusal(err)
	}
	d.mu.Lock()
	if err = call.Ended(generation); err == nil {
		use(made)
	}
	d.mu.Unlock()
	if err != nil {
		made.close()
	}
	return made, err
}

// endingWith is ctx, which another one ends as well, and then with its cause.
func endingWith(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

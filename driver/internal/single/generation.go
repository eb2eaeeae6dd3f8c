package single

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// generation is all connections that are made to the same server. It is a context, below
// Driver.life, so that its end also ends the attempts to connect that began in it. An
// attempt that succeeds at the same moment is checked again, under Driver.mu, before its
// connection is used. So after Drop has returned, no connection is used whose address was
// asked for before.
type generation struct {
	context.Context
	end context.CancelCauseFunc
}

func newGeneration(life context.Context) generation {
	ctx, end := context.WithCancelCause(life)
	return generation{ctx, end}
}

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
	if d.closed {
		return
	}
	old := d.generation
	d.generation = newGeneration(d.life)
	old.end(cause)
	for l := range d.listeners {
		l.conn.Close()
	}
	for _, l := range d.clearPool() {
		d.work.Go(l.close)
	}
}

// attempt is ctx for an attempt to connect: it ends with the command timeout, and with
// the present generation, which it returns as well.
func (d *Driver) attempt(ctx context.Context) (generation, attempt context.Context, cancel context.CancelFunc) {
	d.mu.Lock()
	generation = d.generation.Context
	d.mu.Unlock()
	bounded, stop := d.settings.bounded(ctx)
	attempt, free := endingWith(bounded, generation)
	return generation, attempt, func() { free(); stop() }
}

// endingWith is ctx, which another one ends as well, and then with its cause.
func endingWith(ctx, other context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return ctx, func() { stop(); cancel(nil) }
}

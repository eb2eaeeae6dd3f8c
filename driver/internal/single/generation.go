package single

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
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
	defer d.mu.Unlock()
	d.drop(cause, cause)
}

// drop ends the generation, and gives up the link for a reason. It needs d.mu.
func (d *Driver) drop(cause call.Cause, reason error) {
	link := d.link.Load()
	d.endGeneration(cause)
	if link != nil {
		d.giveUp(link, reason)
	}
}

// leaveEvery is the least time between two attempts to leave a server. Up to as much again is
// added, at random.
const leaveEvery = 500 * time.Millisecond

// abandon makes all connections of a generation again, because the address seems to lead to another
// server. It may not, so this happens at most once in leaveEvery. Calls under way on the link may
// end; dedicated pipelines and listeners fail. It needs d.mu.
func (d *Driver) abandon(generation context.Context, cause, reason error) {
	now := time.Now()
	if generation.Err() != nil || now.Before(d.spared) {
		return
	}
	d.spared = now.Add(pause.Jittered(2 * leaveEvery))
	d.drop(dropped(cause), reason)
}

// join says whether a connection leads to the server of the link. If not, the link is broken first,
// as after a failover: the connection is newer than the link. It needs d.mu.
func (d *Driver) join(generation context.Context, server call.Identity) error {
	if server.Same(d.server) {
		return nil
	}
	d.abandon(generation, call.ErrOther, dropped(call.ErrOther))
	return call.ErrOther
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

// beside is the generation of the link, for a connection beside it. It waits for the link, within the
// command timeout.
func (d *Driver) beside(ctx context.Context) (generation context.Context, err error) {
	ctx, cancel := call.Bound(ctx, time.Now(), d.options.CommandTimeout)
	defer cancel()
	link, err := d.awaitLink(ctx)
	if err != nil {
		return nil, err
	}
	return link.generation, nil
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
	ctx context.Context, d *Driver, generation context.Context, dial func(context.Context) (C, error), use func(C) error,
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
		err = use(made)
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

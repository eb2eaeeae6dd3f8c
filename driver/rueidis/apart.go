package rueidis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/rueidis"
	"github.com/redlatch/redlatch/driver"
)

const (
	// sidings is the number of connections for commands apart. Whoever finds all of them
	// in use waits.
	sidings = 8
	// sidingIdle is how long one is kept for the next call.
	sidingIdle = 5 * time.Second
)

// yard is the pool of connections for commands apart: made on demand, used by one call
// at a time, kept for a while.
type yard struct {
	places chan struct{} // a token for each call that has a siding, or makes one

	// Guarded by Driver.mu.
	idle []*siding // the one used last at the end
	busy map[*siding]struct{}
}

// siding is one such connection. It has no use for a queue: a call that ends before its
// replies are there takes the connection with it. Since the contexts of these calls can
// always end, rueidis reads on a goroutine of its own from the first call on, so that a
// connection that breaks while it is idle is known to be broken.
type siding struct {
	*link
	expiry *time.Timer // of one that is idle
}

func newYard() yard {
	return yard{places: make(chan struct{}, sidings), busy: make(map[*siding]struct{})}
}

// Apart sends the commands on a connection that nobody else uses meanwhile, one of a
// pool of 8. Making one is bounded by the command timeout; waiting for one of the pool,
// and for the replies, by ctx alone. See driver.Driver.
func (d *Driver) Apart(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if len(commands) == 0 {
		return nil
	}
	if err := unsendable(ctx, commands); err != nil {
		return failAll(len(commands), d.options.notSent(err))
	}
	ctx, cancel := endingWith(ctx, d.life)
	defer cancel()
	if err := d.enterYard(ctx); err != nil {
		return failAll(len(commands), d.options.notSent(err))
	}
	defer d.leaveYard()
	for s := d.takeSiding(); s != nil; s = d.takeSiding() {
		if replies := d.shunt(ctx, s, commands); replies[0].Err != errGone {
			return replies
		}
	}
	s, err := d.laySiding(ctx)
	if err != nil {
		return failAll(len(commands), d.unreachable(ctx, err))
	}
	replies := d.shunt(ctx, s, commands)
	if replies[0].Err == errGone {
		return failAll(len(commands), d.unreachable(ctx, errGone))
	}
	return replies
}

// enterYard waits for a place. A call with a place is part of the driver's work.
func (d *Driver) enterYard(ctx context.Context) error {
	select {
	case d.yard.places <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w, behind %d other calls", ended(ctx), sidings)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		<-d.yard.places
		return errClosed
	}
	d.work.Add(1)
	return nil
}

func (d *Driver) leaveYard() {
	<-d.yard.places
	d.work.Done()
}

// takeSiding takes an idle one out of the pool, nil if there is none.
func (d *Driver) takeSiding() *siding {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := len(d.yard.idle) - 1
	if last < 0 {
		return nil
	}
	s := d.yard.idle[last]
	d.yard.idle = d.yard.idle[:last]
	d.yard.busy[s] = struct{}{}
	s.expiry.Stop()
	return s
}

// laySiding connects.
func (d *Driver) laySiding(ctx context.Context) (*siding, error) {
	era, attempt, cancel := d.attempt(ctx)
	defer cancel()
	link, err := newLink(attempt, d.options.unhurried())
	if err != nil {
		return nil, refusal(err)
	}
	link.era = era
	s := &siding{link: link}
	if !d.openSiding(s) {
		s.close()
		return nil, ended(era)
	}
	return s, nil
}

// openSiding makes a siding one that Drop finds, unless its era is over already.
func (d *Driver) openSiding(s *siding) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.era.Err() != nil {
		return false
	}
	d.yard.busy[s] = struct{}{}
	return true
}

// shunt sends the commands, and keeps the siding for others if all of them were
// answered. The errors are errGone, bare, if it did not take the commands.
func (d *Driver) shunt(ctx context.Context, s *siding, commands []driver.Command) []driver.Reply {
	batch := make([]rueidis.Completed, len(commands))
	for i, command := range commands {
		batch[i] = s.client.B().Arbitrary(command.Words...).Build()
	}
	replies := make([]driver.Reply, len(commands))
	whole := true
	for i, result := range s.client.DoMulti(patient(ctx), batch...) {
		if err := result.NonRedisError(); err != nil {
			whole = false
			replies[i].Err = d.derailed(ctx, s, err)
		} else if replies[i] = convert(result); replies[i].Err != nil {
			replies[i].Err = d.heed(s.link, replies[i].Err)
		}
	}
	d.parkSiding(s, whole)
	return replies
}

// derailed explains why a command got no reply.
func (d *Driver) derailed(ctx context.Context, s *siding, err error) error {
	switch over := ctx.Err(); {
	case err == errGone:
		return errGone
	case over != nil && err == over:
		return d.options.unknown(ended(ctx))
	case s.era.Err() != nil:
		return d.options.unknown(ended(s.era))
	}
	return d.options.unknown(foreign(err))
}

// parkSiding puts it back into the pool, or away if it is of no use any more.
func (d *Driver) parkSiding(s *siding, whole bool) {
	d.mu.Lock()
	delete(d.yard.busy, s)
	keep := whole && s.era.Err() == nil
	if keep {
		s.expiry = time.AfterFunc(sidingIdle, func() { d.expireSiding(s) })
		d.yard.idle = append(d.yard.idle, s)
	}
	d.mu.Unlock()
	if !keep {
		s.close()
	}
}

// expireSiding puts away a siding that nobody has used for a while.
func (d *Driver) expireSiding(s *siding) {
	d.mu.Lock()
	at := slices.Index(d.yard.idle, s)
	if at < 0 {
		d.mu.Unlock()
		return // somebody has taken it at the last moment
	}
	d.yard.idle = slices.Delete(d.yard.idle, at, at+1)
	d.work.Add(1)
	d.mu.Unlock()
	defer d.work.Done()
	s.close()
}

// clearYard takes the idle sidings out, for the caller to close, and breaks those in
// use: their calls end with an error, and put them away. It needs d.mu.
func (d *Driver) clearYard() []*siding {
	idle := d.yard.idle
	d.yard.idle = nil
	for _, s := range idle {
		s.expiry.Stop()
	}
	for s := range d.yard.busy {
		s.conn.Close()
	}
	return idle
}

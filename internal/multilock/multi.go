package multilock

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

const (
	firstPatience   = 6 * time.Second
	longestPatience = time.Hour
)

// LockAll takes all members, or none. There are options for each.
func LockAll(ctx context.Context, s Set, opts []lock.Options) (*lock.Hold, error) {
	o, err := newOrder(ctx, "Multi", s.Name(), s, len(s.Members), opts)
	if err != nil {
		return nil, err
	}
	caller := ctx
	ctx, end := pause.Bound(caller)
	defer end()
	limited, cancel := o.limit(ctx)
	defer cancel()
	for patience := o.patience(); ; {
		g := o.group(caller, ctx)
		err := (&ordered{g, patience.Next()}).take()
		if err == nil && g.form(ctx, nil) {
			return &g.hold, nil
		}
		lost := g.close()
		freed := time.Now()
		if left := g.releaseAttempt(); left != nil {
			return nil, lockerr.WithCause(left, ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil, o.timeUp(ctx, err)
		case err == nil || lost != nil && !errors.Is(err, lockerr.ErrClosed):
			err = lost
		}
		if errors.Is(err, lockerr.ErrReleased) { // nobody but a client that closes releases a member of this attempt
			return nil, o.failed(lockerr.ErrClosed)
		}
		// A member was lost while others were waited for, or it was time to let others go first.
		again := errors.Is(err, lockerr.ErrNotAcquired) || errors.Is(err, lockerr.ErrLost)
		if !again || !o.waits() {
			return nil, err
		}
		// Whoever asks again at once is there before those that were told: a message and a request
		// take about as long as this release did, each.
		if limited.Err() == nil && !o.timeIsUp() && pause.For(limited, min(4*time.Since(freed), time.Second)) == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, lockerr.ErrLost) {
			err = o.timeUp(ctx, err)
		}
		return nil, err
	}
}

// patience is for how long one member is waited for while others are held. Two clients may know
// one server by two names, and others may take it by these in another order. Then only releasing
// everything ends a wait in a circle. The jitter keeps two from giving way together. Zero: no end.
func (o order) patience() (b pause.Backoff) {
	for _, m := range o.Set.Members {
		if m.Server != o.Set.Members[0].Server {
			b = pause.Backoff{First: firstPatience, Max: longestPatience}
		}
	}
	return b
}

// ordered is one acquisition of all members in their order. While it waits for one, it holds none
// that comes later.
type ordered struct {
	*group
	patience time.Duration // for a wait while others are held; 0: no end
}

// take is all, of which nothing is left if the observer panics.
func (o *ordered) take() error {
	returned := false
	defer func() {
		if !returned {
			_ = o.releaseAttempt()
		}
	}()
	err := o.all()
	returned = true
	return err
}

// all takes every member. After an error some are held, by the group. Neighbours that one script
// can take are taken together. If another holds one of them, they are taken up to that one, then
// that one is waited for, and then come those behind it. Many are taken in parts.
func (o *ordered) all() error {
	end := len(o.Set.Members) // those taken together come before it
	for from := 0; from < len(o.Set.Members); {
		to := from + 1
		for to < min(end, from+mostTogether) && o.plain(from) && o.plain(to) && o.Set.Members[from].together(o.Set.Members[to]) {
			to++
		}
		if to == from+1 {
			if err := o.takeOne(from); err != nil {
				return err
			}
			from, end = to, len(o.Set.Members)
			continue
		}
		blocked, err := o.takeTogether(from, to)
		switch {
		case err != nil:
			return err
		case blocked < 0:
			from = to
		default:
			end = from + blocked
		}
	}
	return nil
}

// mostTogether is how many members one script takes. That takes the server about a millisecond, in which it serves
// nobody else.
const mostTogether = 100

// plain says that the script for many can take a member.
func (o *ordered) plain(i int) bool { return o.Set.Members[i].Ref.Plain(o.under, &o.each[i]) }

// takeOne takes one member, and waits for it if it may.
func (o *ordered) takeOne(i int) error {
	opts := o.each[i]
	if !o.until.IsZero() {
		opts.Wait = max(time.Until(o.until), 1)
	}
	if i > 0 && o.patience > 0 {
		opts.Wait = min(opts.Wait, o.patience)
	}
	h, err := o.Set.Members[i].Ref.Acquire(o.under, &opts)
	if err != nil {
		return err
	}
	return o.keep(i, h)
}

// takeTogether asks once for several members. It returns which of them cannot be had at once, or
// -1 when all were taken. If the group has ended meanwhile, the rest is taken in as well, to be
// released.
func (o *ordered) takeTogether(from, to int) (blocked int, err error) {
	limited, cancel := o.limit(o.under)
	defer cancel()
	refs := make([]*lock.Ref, to-from)
	for i := range refs {
		refs[i] = o.Set.Members[from+i].Ref
	}
	holds, blocked, err := o.Set.Members[from].Locks.AcquireTogether(o.under, limited, refs, &o.each[from])
	for i, h := range holds {
		if h != nil {
			if over := o.keep(from+i, h); err == nil {
				err = over
			}
		}
	}
	return blocked, err
}

// keep takes in a member that was granted, or says why the group has ended.
func (o *ordered) keep(i int, h *lock.Hold) error {
	if !o.add(i, h, 0) {
		_ = h.Unlock(o.under)
	}
	return o.hold.Ended()
}

package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// order is what one call of Lock asks of several locks as one.
type order struct {
	kind, name string // "Multi" or "Quorum"
	Set
	need  int            // members that must be held
	whole lock.Options   // what is asked of the whole
	each  []lock.Options // what is asked of each member
	until time.Time      // the end of the wait; zero: only the context bounds it
}

// newOrder reports all that can be known to fail before anything is sent. The options are those
// of the caller, with the lease of each member's client, and become the order's.
func newOrder(ctx context.Context, kind, name string, s Set, need int, opts []lock.Options) (order, error) {
	o := order{kind: kind, name: name, Set: s, need: need, each: opts}
	if err := s.check("New" + kind); err != nil {
		return o, err
	}
	if ctx.Err() != nil {
		return o, o.timeUp(ctx, nil)
	}
	o.whole = opts[0] // the same for each but for the defaults of their clients
	for _, other := range opts[1:] {
		if most := other.MaxHold; most > 0 && (o.whole.MaxHold == 0 || most < o.whole.MaxHold) {
			o.whole.MaxHold = most
		}
	}
	for i, m := range s.Members {
		if err := m.Ref.Deadlock(ctx); err != nil {
			return o, err
		}
		opts[i].MaxHold = o.whole.MaxHold
		o.each[i] = opts[i].OfMember(m.Locks.Lease)
	}
	if o.waits() && o.whole.Wait != lock.Forever {
		o.until = time.Now().Add(o.whole.Wait)
	}
	return o, nil
}

// waits says whether the order may wait for a member.
func (o order) waits() bool { return o.whole.Wait != 0 }

// confirms says that the members have to be renewed for the whole when enough are granted.
func (o order) confirms() bool { return o.whole.Fixed || o.whole.MaxHold > 0 || o.whole.Replicas > 0 }

// limit is a context that ends when the wait does.
func (o order) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, o.until)
}

// timeIsUp says that the wait has ended. A context ends at a timer of its own, a moment later.
func (o order) timeIsUp() bool { return !o.until.IsZero() && !time.Now().Before(o.until) }

// timeUp is the error of an order whose context has ended.
func (o order) timeUp(ctx context.Context, err error) error {
	what := lockerr.ErrNotAcquired
	refused, _ := errors.AsType[*driver.ServerError](err)
	switch {
	case errors.Is(err, lockerr.ErrUnknownOutcome):
		what = lockerr.ErrUnknownOutcome
	case refused != nil && !errors.Is(err, lockerr.ErrNotAcquired):
		what, refused = refused, nil
	}
	said := o.failed(what)
	if err != nil {
		said = fmt.Errorf("%w: %v", said, err) // its context is the group's, not the caller's
	}
	if refused != nil {
		said = fmt.Errorf("%w: %w", said, refused)
	}
	return lockerr.WithCause(said, ctx)
}

// failed is the error of the order as a whole.
func (o order) failed(why error) error {
	return fmt.Errorf("redlatch: %s %q: %w", strings.ToLower(o.kind), o.name, why)
}

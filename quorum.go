package redlatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Quorum is one lock on several independent servers: the holder holds it on a majority of
// them. It works while fewer than half of the servers are dead, slow, cut off or restarted
// empty. There is never more than one holder, provided that all clocks run at about the same
// rate. Use the same name on each server. Replicas that take over for one another are not
// independent servers.
//
// It follows Redlock and adds what Redlock leaves out. The hold has a deadline, is renewed,
// and is restored on servers that had it and lost it. A restarted server is ignored until
// every hold that it may have forgotten has ended (Config.RestartDelay). So nobody gets the
// lock for that long after a majority of the servers has started.
//
// A Quorum holds no state; see Mutex.
type Quorum struct{ whole }

var _ Lock = (*Quorum)(nil)

// NewQuorum returns the lock that is held on a majority of these: single locks of distinct
// clients on distinct servers, usually of one name. Three or five make sense: of two, both
// are needed. It does not touch Redis.
//
// Every verb reports a *ConfigError if there is no member, if one is no single lock, or if
// two of them are known to be on one server. Change the servers of a Quorum one at a time: see
// docs/multi-and-quorum.md.
func NewQuorum(locks ...Lock) *Quorum {
	q := &Quorum{}
	q.take("NewQuorum", locks)
	if a, b, found := clash(q.parts, member.sameServer); found && q.err == nil {
		q.err = refuse("NewQuorum", "%q and %q are both on %s: members are counted by distinct server", a.point.name, b.point.name, a.where())
	}
	return q
}

// Name is the name of the members, or their names with a + between them if they differ.
func (q *Quorum) Name() string { return strings.Join(slices.Compact(q.names()), "+") }

// need is how many members are a majority.
func (q *Quorum) need() int { return len(q.parts)/2 + 1 }

// Lock waits until a majority of the members is held, ctx ends, or the time of WithWait has
// passed. The lease of WithLease and the maximum of WithMaxHold begin when a majority was granted;
// each member then confirms that lease, with replicas where WithReplicas asks for them.
// WithFencing is for each member.
//
// All servers are asked side by side, and Lock returns with the majority; the answers of
// the others join the hold when they come. When there can be no majority, everything is given
// back. Lock waits until one of the members that refused may have changed, and asks again.
//
// The hold ends when fewer than a majority of the members are held, at the latest at the
// moment at which it could be so (Hold.Deadline). A member that is missing is asked for
// again, soon at first and then with every renewal, unless WithLease is set. Unlock returns when a majority is free, and frees the rest
// behind it.
//
// Errors: ErrNotAcquired (joined with ctx's error if that ended the wait), also when too
// many of the servers were restarted a short while ago; after it, at most a minority of
// servers that did not answer keep a member for a lease. The joined errors of the members
// if a majority of the servers could not be asked; ErrUnknownOutcome, if what was taken on
// them could not be given back; ErrUnsupported, if servers do not tell since when they are
// up; ErrReentry, ErrInvalidName, ErrClosed; a *ConfigError (NewQuorum), also for a lease
// beyond Config.RestartDelay.
func (q *Quorum) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return q.acquire(ctx, forever, opts)
}

// TryLock takes the members if a majority of them is free, and does not wait. See Lock.
func (q *Quorum) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return q.acquire(ctx, 0, opts)
}

func (q *Quorum) acquire(ctx context.Context, wait time.Duration, opts []LockOption) (*Hold, error) {
	o, err := q.order(ctx, "quorum", q.Name(), q.need(), wait, opts)
	if err != nil {
		return nil, err
	}
	for i, part := range q.parts {
		o.wants[i].wait = 0
		if delay := part.client.config.RestartDelay; delay >= 0 && o.whole.fixed && o.whole.lease > delay {
			return nil, &ConfigError{Field: "WithLease", Reason: fmt.Sprintf("%v is beyond Config.RestartDelay, %v: a restarted server would count too early", o.whole.lease, delay)}
		}
	}
	limited, cancel := o.limit(ctx)
	defer cancel()
	w := watch{order: o, places: make([]*waitqueue.Waiter, len(o.parts))}
	defer w.leave()
	for {
		g := o.group(ctx)
		if err := g.possible(); err != nil {
			_ = g.close()
			return nil, err
		}
		if g.poll(limited) && g.form(ctx) {
			return &g.hold, nil
		}
		err := g.verdict()
		if !o.waits() || !errors.Is(err, ErrNotAcquired) || !w.wait(limited, g) {
			return nil, withCause(err, ctx)
		}
	}
}

// possible says why a quorum that is under way must not be held. Of two that could be held at the
// same time, at least one sees the other.
func (o order) possible() error {
	for i := range o.parts {
		if err := o.oneServer(i); err != nil {
			return err
		}
	}
	return o.disjoint()
}

// disjoint reports a quorum of other servers under way in this process that could be held at the
// same time: a majority of its members and one of ours need not share a server.
func (o order) disjoint() (err error) {
	for _, part := range o.parts {
		part.client.quorums.Range(func(live, _ any) bool {
			g, shared := live.(*group), 0
			for _, other := range g.parts {
				if slices.ContainsFunc(o.parts, other.sameKey) {
					shared++
				}
			}
			if all := len(o.parts) + len(g.parts) - shared; shared > 0 && o.need+g.need <= all {
				err = refuse("NewQuorum", "%q is in use on %d servers, and here on %d: both could be held. Change the servers one at a time", o.name, len(g.parts), len(o.parts))
			}
			return err == nil
		})
	}
	return err
}

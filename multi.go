package redlatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Multi is several locks that are held together, all or none, on one server or on several.
// It is what Redisson calls MultiLock, and its members are ordinary locks, also for Java
// peers: whoever holds one of them keeps the whole out.
//
// Every Multi takes its members in the same order, by server, database, slot and name, whatever the
// order in which they were given. A wait thus holds only members that come before the one
// it waits for, and two Multis cannot wait for each other. That needs processes that know
// their servers by the same names; see NewMulti. A member that is also locked by itself,
// while other members are held, is out of the Multis' order, and the caller's to watch.
//
// A Multi holds no state; see Mutex.
type Multi struct{ whole }

var _ Lock = (*Multi)(nil)

// NewMulti returns the lock that is made of these: mutexes, fair mutexes, both sides of
// read-write locks, and Multis, whose members it takes over. It does not touch Redis.
//
// A server is known by the host and port that were given to Open. Between members whose clients were
// made by New, and so come without a URL, slot and name decide, and last the order in
// which they are given here: where such members have one name on several servers, give
// them in the same order everywhere.
//
// Every verb reports a *ConfigError if there is no member, if one is of another kind, or
// if two of them are the same key on the same server, such as both sides of one read-write
// lock: they would wait for each other.
func NewMulti(locks ...Lock) *Multi {
	m := &Multi{}
	m.take("NewMulti", locks)
	if a, _, found := clash(m.parts, member.sameKey); found && m.err == nil {
		m.err = refuse("NewMulti", "%q is there twice, on %s: the second would wait for the first", a.point.name, a.where())
	}
	return m
}

// Name is the names of the members, in the order in which they are taken, with a + between
// them.
func (m *Multi) Name() string { return strings.Join(m.names(), "+") }

// Lock waits until all members are held, ctx ends, or the time of WithWait has passed,
// which is one for all of them. The lease of WithLease and the maximum of WithMaxHold begin when
// the last member was taken, and replicas confirm that lease. WithFencing is for each member.
//
// Mutexes of one client, and in a cluster of one slot, are taken by one script while they
// are free. Where one is not, they are taken in turn, each waited for while the earlier
// ones are held and renewed. If one of those is lost meanwhile, Lock begins again. If the
// members have several clients, Lock also gives all back after waiting a few seconds for one,
// and begins again. Processes that know one server by two names may wait for each other.
//
// The hold ends with the first member that is lost. The others are then no longer
// renewed. Unlock frees them at once; without it they end with their leases.
//
// Errors: those of the members' Lock, and a *ConfigError (NewMulti). After an error what
// this call had taken has been given back, for which it waits up to Config.ReleaseTimeout;
// what could not be is reported as ErrUnknownOutcome. An owner that held a member before
// (Client.WithOwner) still holds it.
func (m *Multi) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.acquire(ctx, forever, opts)
}

// TryLock takes the members if all are free, and does not wait. See Lock.
func (m *Multi) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return m.acquire(ctx, 0, opts)
}

func (m *Multi) acquire(ctx context.Context, wait time.Duration, opts []LockOption) (*Hold, error) {
	o, err := m.order(ctx, "multi", m.Name(), len(m.parts), wait, opts)
	if err != nil {
		return nil, err
	}
	limited, cancel := o.limit(ctx)
	defer cancel()
	for patience := o.patience(); ; patience = min(2*patience, longestPatience) {
		g := o.group(ctx)
		err := (&sweep{g, jitter(patience)}).all()
		if err == nil && g.form(ctx) {
			return &g.hold, nil
		}
		lost := g.close()
		freed := time.Now()
		if left := g.rollback(); left != nil {
			return nil, withCause(left, ctx)
		}
		switch {
		case ctx.Err() != nil:
			return nil, o.timeUp(ctx, err)
		case err == nil || lost != nil && !errors.Is(err, ErrClosed):
			err = lost
		}
		// A member was lost while others were waited for, or it was time to let others go first.
		again := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrLost) || errors.Is(err, ErrReleased)
		if !again || !o.waits() || limited.Err() != nil {
			return nil, err
		}
		// Whoever asks again at once is there before those that were told: a message and an
		// attempt take about as long as this release did, each.
		rest(limited, min(4*time.Since(freed), time.Second))
	}
}

// order checks what the options ask of several locks as one. It reports all that can be
// known to fail before anything is sent.
//
// Members are renewed, without an end and without replicas, whatever is asked of the whole.
func (w whole) order(ctx context.Context, kind, name string, need int, wait time.Duration, opts []LockOption) (order, error) {
	o := order{kind: kind, name: name, parts: w.parts, need: need, wants: make([]request, len(w.parts))}
	if w.err != nil || ctx.Err() != nil {
		return o, cmp.Or(w.err, o.timeUp(ctx, nil))
	}
	for i, part := range w.parts {
		c := part.client
		want, err := c.request(wait, opts)
		if err := cmp.Or(err, part.point.err, c.deadlock(ctx, part.point, c.ownerOf(ctx))); err != nil {
			return o, err
		}
		o.whole = want
		lease := min(want.lease, c.config.LeaseTime)
		if want.most > 0 {
			lease = min(lease, want.most) // its key does not outlive the whole
		}
		o.wants[i] = request{lease: lease, wait: want.wait, fenced: want.fenced}
	}
	if o.waits() && o.whole.wait != forever {
		o.until = time.Now().Add(o.whole.wait)
	}
	return o, nil
}

// waits says whether the order may wait for a member.
func (o order) waits() bool { return o.whole.wait != 0 }

// limit is a context that ends when the wait does.
func (o order) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, o.until)
}

// patience is for how long one member is waited for while others are held. Two clients may
// know one server by two names, and others may take it by these in another order. Then only
// giving everything back ends a wait in a circle.
func (o order) patience() time.Duration {
	for _, part := range o.parts {
		if part.client != o.parts[0].client {
			return firstPatience
		}
	}
	return 0
}

const (
	firstPatience   = 3 * time.Second
	longestPatience = time.Hour
)

// jitter is up to twice d, so that two that wait for each other do not give up together.
func jitter(d time.Duration) time.Duration { return d + rand.N(d+1) }

// rest lets others go first.
func rest(ctx context.Context, d time.Duration) {
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-limited.Done()
}

// timeUp is the error of an order whose context has ended.
func (o order) timeUp(ctx context.Context, err error) error {
	what := ErrNotAcquired
	refused, _ := errors.AsType[*driver.ServerError](err)
	switch {
	case errors.Is(err, ErrUnknownOutcome):
		what = ErrUnknownOutcome
	case refused != nil && !errors.Is(err, ErrNotAcquired):
		what, refused = refused, nil
	}
	said := fmt.Errorf("redlatch: %s %q: %w", o.kind, o.name, what)
	if err != nil {
		said = fmt.Errorf("%w: %v", said, err) // its context is the group's, not the caller's
	}
	if refused != nil {
		said = fmt.Errorf("%w: %w", said, refused)
	}
	return withCause(said, ctx)
}

package redlatch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Multi is several locks that are held together, all or none, on one server or on several.
// It is what Redisson calls MultiLock, and its members are ordinary locks, also for Java
// peers: whoever holds one of them keeps the whole out.
//
// Every Multi takes its members in the same order, by server, slot and name, whatever the
// order in which they were given. A wait thus holds only members that come before the one
// it waits for, and two Multis cannot wait for each other. That needs processes that know
// their servers by the same URLs; see NewMulti. A member that is also locked by itself,
// while other members are held, is out of the Multis' order, and the caller's to watch.
//
// A Multi holds no state; see Mutex.
type Multi struct {
	parts []member
	err   error // why there can be none
}

var _ Lock = (*Multi)(nil)

// NewMulti returns the lock that is made of these: mutexes, fair mutexes, both sides of
// read-write locks, and Multis, whose members it takes over. It does not touch Redis.
//
// A server is known by the URL that was given to Open. Between members whose clients were
// made by New, and so come without a URL, slot and name decide, and last the order in
// which they are given here: where such members have one name on several servers, give
// them in the same order everywhere.
//
// Every verb reports a *ConfigError if there is no member, if one is of another kind, or
// if two of them are the same key on the same server, such as both sides of one read-write
// lock: they would wait for each other.
func NewMulti(locks ...Lock) *Multi {
	parts, err := flatten(locks)
	m := &Multi{parts: inOrder(parts), err: err}
	switch a, _, found := clash(parts, member.sameKey); {
	case err != nil:
	case len(parts) == 0:
		m.err = refuse("NewMulti", "there is no lock to take")
	case found:
		m.err = refuse("NewMulti", "%q is there twice, on %s: the second would wait for the first", a.point.name, a.where())
	}
	return m
}

// flatten are the members of locks, in the order given.
func flatten(locks []Lock) ([]member, error) {
	var parts []member
	for _, l := range locks {
		if inner, ok := l.(*Multi); ok {
			if inner.err != nil {
				return nil, inner.err
			}
			parts = append(parts, inner.parts...)
			continue
		}
		part, ok := memberOf(l)
		if !ok {
			return nil, refuse("NewMulti", "a %T is no single lock", l)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Name is the names of the members, in the order in which they are taken, with a + between
// them.
func (m *Multi) Name() string { return joined(m.parts) }

// Lock waits until all members are held, ctx ends, or the time of WithWait has passed,
// which is one for all of them. The options are for each member. A lease that WithLease
// fixed begins for all of them when the last was taken.
//
// Mutexes of one client, and in a cluster of one slot, are taken by one script while they
// are free. Where one is not, they are taken in turn, each waited for while the earlier
// ones are held and renewed. If one of those is lost meanwhile, Lock begins again.
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
	if m.err != nil {
		return nil, m.err
	}
	wants, err := requests(ctx, m.parts, wait, opts)
	if err != nil {
		return nil, err
	}
	until := ends(wants[0].wait)
	for {
		g := newGroup(ctx, "multi", m.Name(), len(m.parts), len(m.parts))
		err := (&sweep{m.parts, wants, g, until}).all()
		if err == nil && g.form() {
			return &g.hold, nil
		}
		lost := g.close()
		if left := g.rollback(); left != nil {
			return nil, fmt.Errorf("redlatch: multi %q: %w: %w", m.Name(), ErrUnknownOutcome, left)
		}
		switch {
		case err == nil:
			err = lost
		case lost == nil:
			return nil, err
		}
		// A member was lost while others were waited for.
		if wants[0].wait == 0 || ctx.Err() != nil || !until.IsZero() && time.Now().After(until) {
			return nil, err
		}
	}
}

// requests are what the options ask of each member. It reports all that can be known to
// fail before anything is sent.
func requests(ctx context.Context, parts []member, wait time.Duration, opts []LockOption) ([]request, error) {
	wants := make([]request, len(parts))
	for i, part := range parts {
		want, err := part.client.request(wait, opts)
		if err == nil {
			err = part.point.err
		}
		if err == nil {
			err = part.client.deadlock(ctx, part.point, part.client.ownerOf(ctx))
		}
		if err != nil {
			return nil, err
		}
		wants[i] = want
	}
	return wants, nil
}

// ends is when a wait that begins now ends: never (the zero time) if only its context
// bounds it.
func ends(wait time.Duration) time.Time {
	if wait == forever {
		return time.Time{}
	}
	return time.Now().Add(wait)
}

// remaining is what is left of a wait, of which want says how long it was.
func remaining(want request, until time.Time) (wait time.Duration, over bool) {
	if want.wait == 0 || until.IsZero() {
		return want.wait, false
	}
	left := time.Until(until)
	return left, left <= 0
}

// outOfTime is the error of a member that was not even asked for.
func (m member) outOfTime(ctx context.Context) error {
	return m.client.notAcquired(ctx, m.point, answer{})
}

// lostWhileAsking is why a group that has ended takes no more members.
func (g *group) lostWhileAsking() error {
	if err := g.hold.Err(); err != nil && !errors.Is(err, ErrReleased) {
		return err
	}
	return fmt.Errorf("redlatch: %s %q: %w: a member was released", g.kind, g.name, ErrLost)
}

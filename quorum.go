package redlatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
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
type Quorum struct {
	parts []member
	err   error // why there can be none
}

var _ Lock = (*Quorum)(nil)

// NewQuorum returns the lock that is held on a majority of these: single locks of distinct
// clients on distinct servers, usually of one name. Three or five make sense: of two, both
// are needed. It does not touch Redis.
//
// Every verb reports a *ConfigError if there is no member, if one is no single lock, or if
// two of them are known to be on one server.
func NewQuorum(locks ...Lock) *Quorum {
	q := &Quorum{}
	for _, l := range locks {
		part, ok := memberOf(l)
		if !ok {
			q.err = refuse("NewQuorum", "a %T is no single lock", l)
			return q
		}
		q.parts = append(q.parts, part)
	}
	switch a, b, found := clash(q.parts, member.sameServer); {
	case len(q.parts) == 0:
		q.err = refuse("NewQuorum", "there is no lock to take")
	case found:
		q.err = refuse("NewQuorum", "%q and %q are both on %s: members are counted by distinct server", a.point.name, b.point.name, a.where())
	}
	inOrder(q.parts)
	return q
}

// Name is the name of the members, or their names with a + between them if they differ.
func (q *Quorum) Name() string {
	for _, part := range q.parts {
		if part.point.name != q.parts[0].point.name {
			return joined(q.parts)
		}
	}
	if len(q.parts) == 0 {
		return ""
	}
	return q.parts[0].point.name
}

// need is how many members are a majority.
func (q *Quorum) need() int { return len(q.parts)/2 + 1 }

// Lock waits until a majority of the members is held, ctx ends, or the time of WithWait has
// passed. The options are for each member.
//
// All servers are asked side by side, and Lock returns with the majority; the answers of
// the others join the hold when they come. If there is no majority, everything is given
// back, and Lock waits for one of the members that another holds, and asks again.
//
// The hold ends when fewer than a majority of the members are held, at the latest at the
// moment at which it could be so (Hold.Deadline). A member that is missing is asked for
// again with every renewal. Unlock returns when a majority is free, and frees the rest
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
	if q.err != nil {
		return nil, q.err
	}
	wants, err := requests(ctx, q.parts, wait, opts)
	if err != nil {
		return nil, err
	}
	if err := q.outlives(wants); err != nil {
		return nil, err
	}
	waits, until := wants[0].wait != 0, ends(wants[0].wait)
	first, pause := -1, time.Duration(0)
	for {
		b := q.ballot(ctx, wants, first, until)
		if b.poll() {
			return &b.group.hold, nil
		}
		err := b.verdict(ctx)
		if !waits || !errors.Is(err, ErrNotAcquired) {
			return nil, err
		}
		if first = b.pivot(); first < 0 {
			// Nobody is known to hold it: several asked at once, or servers are young.
			pause = min(2*pause+splitPause, longestPause)
			if !b.pause(ctx, rand.N(pause)) {
				return nil, withCause(err, ctx)
			}
		} else if ctx.Err() != nil || b.late() {
			return nil, withCause(err, ctx)
		}
	}
}

// The pauses between votes that nobody won, at random up to the shorter one at first and
// up to the longer one in the end.
const (
	splitPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// outlives reports a lease that a restarted server could have forgotten and yet count.
func (q *Quorum) outlives(wants []request) error {
	for i, part := range q.parts {
		delay := part.client.config.RestartDelay
		if delay >= 0 && wants[i].lease > delay {
			return &ConfigError{"WithLease", fmt.Sprintf("%v is beyond Config.RestartDelay, %v: a restarted server would count too early", wants[i].lease, delay)}
		}
	}
	return nil
}

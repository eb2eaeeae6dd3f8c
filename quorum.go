package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/multilock"
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
type Quorum struct{ set multilock.Set }

var _ Lock = (*Quorum)(nil)

// NewQuorum returns the lock that is held on a majority of these: single locks of distinct
// clients on distinct servers, usually of one name. Three or five make sense: of two, both
// are needed. It does not touch Redis.
//
// Change the servers of a Quorum one at a time: see docs/multi-and-quorum.md.
//
// Errors:
//
//   - *ConfigError, if there is no member, or one that is no single lock, or one that is not Exclusive,
//     or if two members are known to be on one server.
//   - ErrInvalidName, if the name of a member is not valid.
func NewQuorum(locks ...Lock) (*Quorum, error) {
	set, err := setOf("NewQuorum", locks, multilock.Servers)
	if err != nil {
		return nil, err
	}
	return &Quorum{set}, nil
}

// Name is the name of the members, or their names with a + between them if they differ.
func (q *Quorum) Name() string { return q.set.CommonName() }

// Exclusive is true: a Quorum takes no lock that has several holders (NewQuorum).
func (*Quorum) Exclusive() bool { return true }

// Lock waits until a majority of the members is held, ctx ends, or the time of WithWait has
// passed. The lease of WithLease and the maximum of WithMaxHold begin when a majority was
// granted. Each member then confirms that lease, and so do its replicas with WithReplicas.
// WithFencing is for each member.
//
// All servers are asked at the same time. Lock returns when a majority has granted, and the
// other members join the hold when their servers answer. If no majority is possible any more,
// everything is released. Lock waits until one of the members that refused may have changed,
// and asks again.
//
// The hold ends when fewer than a majority of the members are held, and at Hold.Deadline at the
// latest. A renewal moves that deadline. A missing member is asked for again, soon at
// first and then with every renewal, unless WithLease is set. Unlock returns when a majority
// is free, and releases the rest in the background.
//
// Errors:
//
//   - ErrNotAcquired, joined with ctx's error if that ended the wait, also if too many of the
//     servers were restarted a short while ago. At most a minority of servers that did not
//     answer keep a member, for one lease.
//   - The joined errors of the members, if a majority of the servers could not be asked.
//   - ErrUnknownOutcome, if members on a majority of the servers may not have been released.
//   - ErrUnsupported, if servers do not tell how long they have been up.
//   - A *ConfigError (NewQuorum), also for a lease beyond Config.RestartDelay, or if the owner holds members and has
//     ever asked for such a lease of them.
//   - ErrReentry, ErrInvalidName, ErrClosed.
func (q *Quorum) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquireAll(ctx, aQuorum, q.set, forever, opts, multilock.LockMajority)
}

// TryLock takes the members if a majority of them is free, and does not wait. See Lock.
func (q *Quorum) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquireAll(ctx, aQuorum, q.set, 0, opts, multilock.LockMajority)
}

package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/multilock"
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
type Multi struct{ set multilock.Set }

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
	members, err := membersOf("NewMulti", locks)
	return &Multi{multilock.Locks("NewMulti", members, err)}
}

// Name is the names of the members, in the order in which they are taken, with a + between
// them.
func (m *Multi) Name() string { return m.set.Name() }

// Err says why the members cannot be taken as one, as every verb reports it, or nil. The error is
// a *ConfigError (NewMulti), or matches ErrInvalidName. It sends nothing.
func (m *Multi) Err() error { return m.set.Check("NewMulti") }

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
	each, err := optionsOfEach(m.set, wait, opts)
	if err != nil {
		return nil, err
	}
	h, err := multilock.LockAll(ctx, m.set, each)
	return (*Hold)(h), err
}

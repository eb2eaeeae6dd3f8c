package redlatch

import (
	"context"
	"slices"

	"github.com/redlatch/redlatch/internal/multilock"
)

// Multi is several locks that are held together, all or none, on one server or on several.
// It is what Redisson calls MultiLock. Its members are ordinary locks, also for Java peers.
// Whoever holds one of them keeps the whole out.
//
// Every Multi takes its members in the same order: by server, database, slot and name. The
// order in which they were given does not matter. While a Multi waits for a member, it holds
// only earlier ones, so two Multis cannot wait for each other. That needs processes that know
// their servers by the same names; see NewMulti. A caller that holds one member and locks
// another one by itself leaves this order. It must rule out deadlocks itself.
//
// A Multi holds no state; see Mutex.
type Multi struct{ set multilock.Set }

var _ Lock = (*Multi)(nil)

// NewMulti returns the lock that is made of these: mutexes, fair mutexes, both sides of
// read-write locks, and Multis, whose members it takes over. It does not touch Redis.
//
// A server is known by the host and port that were given to Open. A client that New made has
// no URL. Between members of such clients slot and name decide, and after them the order in
// which they are given here. If such members have one name on several servers, give them in
// the same order everywhere.
//
// There is no largest Multi. Each 100 members cost a round trip to acquire.
//
// Errors:
//
//   - *ConfigError, if there is no member, or one of another kind, or if two members are one key on
//     one server, because they would wait for each other. Both sides of one read-write lock are an
//     example.
//   - ErrInvalidName, if the name of a member is not valid.
func NewMulti(locks ...Lock) (*Multi, error) {
	set, err := setOf("NewMulti", locks, multilock.Locks)
	if err != nil {
		return nil, err
	}
	return &Multi{set}, nil
}

// Name is the names of the members, in the order in which they are taken, with a + between
// them.
func (m *Multi) Name() string { return m.set.Name() }

// Exclusive is true if one of the members is: who has all members has that one alone.
func (m *Multi) Exclusive() bool {
	return slices.ContainsFunc(m.set.Members, func(one multilock.Member) bool { return !one.Ref.Read() })
}

// Lock waits until all members are held, ctx ends, or the time of WithWait has passed. All
// members share that time. The lease of WithLease and the maximum of WithMaxHold begin when
// the last member was taken, and replicas confirm that lease. WithFencing is for each member.
//
// One script takes up to 100 mutexes of one client, and in a cluster of one slot, if they are free.
// If one of them is not free, Lock takes them one after another. While it waits for one, it holds and
// renews the earlier ones. If one of those is lost meanwhile, Lock begins again. If the
// members have several clients, Lock waits a few seconds for one, then releases all and begins
// again. Otherwise processes that know one server by two names could wait for each other.
//
// The hold ends with the first member that is lost. The others are then no longer
// renewed. Unlock frees them at once. Without it they end with their leases.
//
// Errors: those of the members' Lock. After an error, what
// this call had taken has been released. Lock waits for that, up to Config.ReleaseTimeout. A
// member that could not be released is reported as ErrUnknownOutcome. An owner that held a
// member before (Client.WithOwner) still holds it.
func (m *Multi) Lock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquireAll(ctx, aMulti, m.set, forever, opts, multilock.LockAll)
}

// TryLock takes the members if all are free, and does not wait. See Lock.
func (m *Multi) TryLock(ctx context.Context, opts ...LockOption) (*Hold, error) {
	return acquireAll(ctx, aMulti, m.set, 0, opts, multilock.LockAll)
}

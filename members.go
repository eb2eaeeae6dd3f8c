package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/multilock"
)

// setOf makes a set of locks. A Multi takes over the members of another. The error is about the first lock
// that cannot be a member, or about the set.
func setOf(maker string, locks []Lock, set func(maker string, members []multilock.Member) (multilock.Set, error)) (none multilock.Set, err error) {
	var members []multilock.Member
	for i, l := range locks {
		if lockerr.Missing("", l) != nil {
			return none, multilock.Refuse(maker, "lock %d is nil", i+1)
		}
		inner, isMulti := l.(*Multi)
		client, ref, single := refOf(l)
		switch {
		case isMulti && len(inner.set.Members) > 0 && maker == "NewMulti":
			members = append(members, inner.set.Members...)
		case isPermit(l):
			return none, multilock.Refuse(maker, "lock %d is a PermitSemaphore, which has several holders", i+1)
		case !single:
			return none, multilock.Refuse(maker, "lock %d is a %T, which is no single lock", i+1, l)
		case client == nil:
			return none, multilock.Refuse(maker, "lock %d, a %T, was not made by a Client", i+1, l)
		case ref.Read() && maker == "NewQuorum":
			return none, multilock.Refuse(maker, "lock %d is the read side of an RWMutex, which has several holders", i+1)
		default:
			members = append(members, multilock.Member{Server: client.server, Ref: ref, Slot: driver.Slot(ref.Lock)})
		}
	}
	return set(maker, members)
}

func isPermit(l Lock) bool { _, is := l.(*permitLock); return is }

// refOf is what a lock, which is not nil, refers to, with a nil client if none made it. It reports false if it is
// no single lock.
func refOf(l Lock) (c *Client, r *lock.Ref, single bool) {
	switch l := l.(type) {
	case *Mutex:
		return l.client, &l.ref, true
	case *RWMutex:
		return l.client, &l.ref, true
	case *readLocker:
		return l.client, &l.ref, true
	}
	return nil, nil, false
}

func init() {
	lock.RefOf = func(l any) *lock.Ref {
		one, _ := l.(Lock)
		_, ref, _ := refOf(one)
		return ref
	}
}

// acquireAll takes several locks as one, by the rule of that kind.
func acquireAll(ctx context.Context, kind lockKinds, s multilock.Set, wait time.Duration, opts []LockOption, take func(context.Context, multilock.Set, []lock.Options) (*lock.Hold, error)) (*Hold, error) {
	each := make([]lock.Options, len(s.Members))
	for i, m := range s.Members {
		o, err := lockOptions(m.Locks, kind, m.Restart.Delay, wait, opts)
		if err != nil {
			return nil, err
		}
		each[i] = *o
	}
	h, err := take(ctx, s, each)
	return (*Hold)(h), err
}

package redlatch

import (
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/multilock"
)

// membersOf turns locks into members. A Multi takes over the members of another. The error is
// about the first lock that cannot be one.
func membersOf(maker string, locks []Lock) (members []multilock.Member, err error) {
	for i, l := range locks {
		if lockerr.Missing("", l) != nil {
			return nil, multilock.Refuse(maker, "lock %d is nil", i+1)
		}
		inner, isMulti := l.(*Multi)
		client, ref, single := refOf(l)
		switch {
		case isMulti && len(inner.set.Members) > 0 && maker == "NewMulti":
			members = append(members, inner.set.Members...)
		case isPermit(l):
			return nil, multilock.Refuse(maker, "lock %d is a PermitSemaphore, which has several holders", i+1)
		case !single:
			return nil, multilock.Refuse(maker, "lock %d is a %T, which is no single lock", i+1, l)
		case client == nil:
			return nil, multilock.Refuse(maker, "lock %d, a %T, was not made by a Client", i+1, l)
		case ref.Read() && maker == "NewQuorum":
			return nil, multilock.Refuse(maker, "lock %d is the read side of an RWMutex, which has several holders", i+1)
		default:
			members = append(members, multilock.Member{Server: client.server, Ref: ref, Slot: driver.Slot(ref.Lock)})
		}
	}
	return members, nil
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

// optionsOfEach are the options of an acquisition of several locks as one, for each member.
func optionsOfEach(kind lockKinds, s multilock.Set, wait time.Duration, opts []LockOption) ([]lock.Options, error) {
	each := make([]lock.Options, len(s.Members))
	for i, m := range s.Members {
		o, err := lockOptions(m.Locks, kind, m.Restart.Delay, wait, opts)
		if err != nil {
			return nil, err
		}
		each[i] = *o
	}
	return each, nil
}

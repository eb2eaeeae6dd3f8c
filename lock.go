package redlatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Lock is what every kind of lock can do.
type Lock interface {
	// Name is the name the lock was made with.
	Name() string

	// Lock waits until the lock is held, ctx ends, or the time of WithWait has
	// passed.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)

	// TryLock takes the lock if it is free, and does not wait. With WithWait it does
	// what Lock does.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
}

// Exclusive reports whether l has one holder at a time. Mutex, RWMutex, Multi and Quorum state it by a
// method Exclusive. The read side of an RWMutex and a PermitSemaphore have several holders. A Multi is exclusive if
// one of its members is. A Lock of your own without that method counts as not exclusive: embed the lock
// that it wraps, or write the method. A nil lock is not exclusive.
//
// What needs one holder, such as leader.Run and schedule.Run, refuses any other lock with a *ConfigError.
func Exclusive(l Lock) bool {
	states, does := l.(interface{ Exclusive() bool })
	return does && lockerr.Missing("lock", l) == nil && states.Exclusive()
}

// forever is the wait of Lock, which ctx alone bounds.
const forever = lock.Forever

// acquire takes a single lock of that kind.
func (c *Client) acquire(ctx context.Context, kind lockKinds, r *lock.Ref, wait time.Duration, opts []LockOption) (*Hold, error) {
	if err := r.Usable(); err != nil {
		return nil, err
	}
	if len(opts) == 0 {
		h, err := r.Acquire(ctx, c.locks.Plain(wait))
		return (*Hold)(h), err
	}
	o, err := lockOptions(c.locks, kind, 0, wait, opts)
	if err != nil {
		return nil, err
	}
	if stay, given := timeOf(cohortOption, opts); given {
		h, err := c.cohorts.Acquire(ctx, r, o, stay)
		return (*Hold)(h), err
	}
	h, err := r.Acquire(ctx, o)
	return (*Hold)(h), err
}

// lockOptions are the options of an acquisition of a lock of that kind, with the default lease and the default end of m.
// The delay is that of a Quorum's servers, 0 for any other lock.
func lockOptions(m *lock.Manager, kind lockKinds, delay, wait time.Duration, opts []LockOption) (*lock.Options, error) {
	o := &lock.Options{Lease: m.Lease, Wait: wait}
	for _, opt := range opts {
		if opt.kind == 0 {
			return nil, &ConfigError{Field: "LockOption", Reason: "the zero value is no option"}
		}
		if err := optionTable[opt.kind].apply(o, opt); err != nil {
			return nil, err
		}
	}
	for _, opt := range opts {
		row := &optionTable[opt.kind]
		for _, r := range row.refused {
			if why := r.reason(kind, delay, opt.kind, opts); why != "" {
				return nil, &ConfigError{Field: row.name, Reason: why}
			}
		}
	}
	_, cohort := timeOf(cohortOption, opts)
	if most := m.Plain(wait).MaxHold; most > 0 && o.MaxHold == 0 && !o.Fixed && !cohort {
		o.MaxHold = max(most, o.MinHold)
	}
	return o, nil
}

// reason says why these options are refused because of one of them, "" if they are not.
func (r *refusal) reason(kind lockKinds, delay time.Duration, of optionKind, opts []LockOption) string {
	if r.kinds != 0 && r.kinds&kind == 0 {
		return ""
	}
	if r.with == 0 {
		return r.why
	}
	other, given := delay, delay > 0
	if r.with != restartDelay {
		other, given = timeOf(r.with, opts)
	}
	name := optionTable[r.with].name
	switch own, _ := timeOf(of, opts); {
	case !given || r.longer && own <= other:
		return ""
	case r.longer:
		return fmt.Sprintf("%v is longer than %s, %v: %s", own, name, other, r.why)
	}
	return fmt.Sprintf("%s: it cannot be combined with %s", r.why, name)
}

// timeOf is the time of an option that is given.
func timeOf(kind optionKind, opts []LockOption) (d time.Duration, given bool) {
	for _, opt := range slices.Backward(opts) {
		if opt.kind == kind {
			return opt.d, true
		}
	}
	return 0, false
}

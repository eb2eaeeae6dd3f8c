package redlatch

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Lock is what every kind of lock can do.
type Lock interface {
	// Name is the name the lock was made with.
	Name() string

	// Lock waits until the lock is held, ctx ends, or the time of WithWait has
	// passed.
	Lock(ctx context.Context, opts ...LockOption) (*Hold, error)

	// TryLock does not wait: it takes the lock if it is free. With WithWait it is
	// Lock.
	TryLock(ctx context.Context, opts ...LockOption) (*Hold, error)
}

// LockOption changes one acquisition.
type LockOption struct {
	kind optionKind
	d    time.Duration
}

type optionKind int

const (
	leaseOption optionKind = iota + 1
	waitOption
	fencingOption
	maxHoldOption
)

// WithLease takes the lock for d: the hold is not renewed and ends by itself. At
// least 10 ms. Under re-entry all holds of one owner share the lock's one expiry in
// Redis, so the longest lease among them counts.
func WithLease(d time.Duration) LockOption { return LockOption{leaseOption, d} }

// WithWait gives up after d with ErrNotAcquired. Zero does not wait at all.
// Without it, ctx alone bounds the wait.
func WithWait(d time.Duration) LockOption { return LockOption{waitOption, d} }

// WithFencing takes a token with the hold: a number that is greater than that of every
// earlier hold of the lock with one. Give it to whatever the lock guards (package fence),
// which then refuses the late write of a holder that has been overtaken. Under re-entry
// the tenure keeps its token. The counter is Redisson's, so that a Java FencedLock of the
// same name goes on counting.
func WithFencing() LockOption { return LockOption{kind: fencingOption} }

// WithMaxHold has the hold end after d at the latest, with ErrLost, however long its holder
// would go on: nobody renews it beyond that, neither the client nor a watchdog. At least
// 10 ms. It ends a little earlier than d, as a lease does. Under re-entry all holds of one
// owner end together, so the latest end among them counts, and none if one of them has none.
func WithMaxHold(d time.Duration) LockOption { return LockOption{maxHoldOption, d} }

// request is what the options of one acquisition add up to.
type request struct {
	lease  time.Duration
	fixed  bool          // the lease is not renewed
	wait   time.Duration // forever: ctx alone bounds the wait
	fenced bool          // with a token
	most   time.Duration // for which it is held at most; 0 without
}

// until is when a hold that was asked for at a moment ends at the latest; zero without.
func (r request) until(asked time.Time) time.Time {
	if r.most == 0 {
		return time.Time{}
	}
	return asked.Add(r.most)
}

const forever time.Duration = math.MaxInt64

// request checks the options and applies them to the defaults of the verb.
func (c *Client) request(wait time.Duration, opts []LockOption) (request, error) {
	r := request{lease: c.config.LeaseTime, wait: wait}
	for _, opt := range opts {
		switch opt.kind {
		case leaseOption:
			if opt.d < minLease {
				return r, &ConfigError{"WithLease", fmt.Sprintf("%v is below the shortest lease, %v", opt.d, minLease)}
			}
			r.lease, r.fixed = opt.d, true
		case waitOption:
			if opt.d < 0 {
				return r, &ConfigError{"WithWait", fmt.Sprintf("%v is negative", opt.d)}
			}
			r.wait = opt.d
		case fencingOption:
			r.fenced = true
		case maxHoldOption:
			if opt.d < minLease {
				return r, &ConfigError{"WithMaxHold", fmt.Sprintf("%v is below the shortest lease, %v", opt.d, minLease)}
			}
			r.most = opt.d
		default:
			return r, &ConfigError{"LockOption", "the zero value is no option"}
		}
	}
	return r, nil
}

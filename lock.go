package redlatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
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

// LockOption changes one acquisition. Of several that are alike, the last one counts.
type LockOption struct {
	kind optionKind
	d    time.Duration
	n    int
}

type optionKind int

const (
	leaseOption optionKind = iota + 1
	waitOption
	fencingOption
	replicasOption
	maxHoldOption
)

// WithLease takes the lock for d: the hold is not renewed and ends by itself. At
// least 10 ms. Under re-entry all holds of one owner share the lock's one expiry in
// Redis, so the longest lease among them counts.
func WithLease(d time.Duration) LockOption { return LockOption{kind: leaseOption, d: d} }

// WithWait gives up after d with ErrNotAcquired. Zero does not wait at all.
// Without it, ctx alone bounds the wait.
func WithWait(d time.Duration) LockOption { return LockOption{kind: waitOption, d: d} }

// WithFencing takes a token with the hold. A token is a number, greater than every earlier
// token of the lock, unless Redis has lost increments (Config.TokenClock). Give it to
// whatever the lock guards (package fence), which then refuses the late write of a holder
// that has been overtaken. Under re-entry the owner keeps its token. The counter is
// Redisson's, so that a Java FencedLock of the same name goes on counting.
func WithFencing() LockOption { return LockOption{kind: fencingOption} }

// WithReplicas has Lock return only when n replicas of the server have the hold. Any of these
// n can then take the server's place without losing the lock. If fewer confirm it within
// timeout, the lock is released and the error is ErrNotReplicated. redlatch cannot choose
// which replica is promoted. If a replica that lags behind may be promoted, ask for all of
// them, and use a fencing token.
//
// It costs one more round trip, on a connection of its own. It waits for up to timeout
// beyond the wait for the lock itself. Under re-entry each hold needs its own confirmation.
//
// Replicas confirm the grant, not the renewals. If the primary is cut off from its replicas,
// another owner may get the lock after the first lease, while this hold is still renewed.
// With WithLease there are no renewals, so the whole lease is confirmed.
//
// Source: the WAIT command of Redis, as Redisson uses it; docs/wire-format.md, "Waiting for
// replicas".
func WithReplicas(n int, timeout time.Duration) LockOption {
	return LockOption{kind: replicasOption, n: n, d: timeout}
}

// WithMaxHold makes the hold end after d at the latest, with ErrLost. Neither the client nor
// a watchdog renews it beyond that. At least 10 ms. It ends a little earlier than d, as a
// lease does. Under re-entry all holds of one owner end together: the latest limit applies.
// If any hold has no limit, none applies.
func WithMaxHold(d time.Duration) LockOption { return LockOption{kind: maxHoldOption, d: d} }

// forever is the wait of Lock, which ctx alone bounds.
const forever = lock.Forever

// options checks the options of one acquisition and applies them to the defaults of the verb.
func options(lease, wait time.Duration, opts []LockOption) (lock.Options, error) {
	o := lock.Options{Lease: lease, Wait: wait}
	for _, opt := range opts {
		switch opt.kind {
		case leaseOption:
			if err := inRange("WithLease", opt.d, minLease, longest); err != nil {
				return o, err
			}
			o.Lease, o.Fixed = opt.d, true
		case waitOption:
			if opt.d < 0 {
				return o, &ConfigError{Field: "WithWait", Reason: fmt.Sprintf("%v is negative", opt.d)}
			}
			o.Wait = opt.d
		case fencingOption:
			o.Fenced = true
		case replicasOption:
			if opt.n < 1 || opt.d < time.Millisecond {
				return o, &ConfigError{Field: "WithReplicas", Reason: fmt.Sprintf("%d replicas within %v: at least one, and 1ms", opt.n, opt.d)}
			}
			o.Replicas, o.ReplicaTimeout = opt.n, min(opt.d, longest)
		case maxHoldOption:
			if err := inRange("WithMaxHold", opt.d, minLease, longest); err != nil {
				return o, err
			}
			o.MaxHold = opt.d
		default:
			return o, &ConfigError{Field: "LockOption", Reason: "the zero value is no option"}
		}
	}
	return o, nil
}

// acquire takes a single lock.
func acquire(ctx context.Context, r *lock.Ref, wait time.Duration, opts []LockOption) (*Hold, error) {
	o, err := options(r.Manager().Lease(), wait, opts)
	if err != nil {
		return nil, err
	}
	h, err := r.Acquire(ctx, o)
	return (*Hold)(h), err
}

// forceUnlockIf frees a single lock if owner holds it.
func forceUnlockIf(ctx context.Context, r *lock.Ref, owner string) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: "owner", Reason: "it is empty; ForceUnlock frees a lock whoever holds it"}
	}
	return r.ForceUnlock(ctx, owner)
}

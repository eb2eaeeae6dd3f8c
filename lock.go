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

// Exclusive reports whether l has one holder at a time. Mutex, FairMutex, RWMutex, Multi and Quorum state it by a
// method Exclusive. The read side of an RWMutex and a PermitSemaphore have several holders, and a Multi or Quorum is
// exclusive if its members are. A Lock of your own without that method counts as not exclusive: embed the lock
// that it wraps, or write the method.
//
// What needs one holder, such as leader.Run and schedule.Run, refuses any other lock with a *ConfigError.
func Exclusive(l Lock) bool {
	states, does := l.(interface{ Exclusive() bool })
	return does && states.Exclusive()
}

// LockOption changes one acquisition. Of several that are alike, the last one counts.
type LockOption struct {
	kind optionKind
	d    time.Duration
	n    int
	b    Backoff
}

type optionKind int

const (
	leaseOption optionKind = iota + 1
	waitOption
	fencingOption
	replicasOption
	maxHoldOption
	cohortOption
	minHoldOption
	backoffOption
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

// WithMinHold keeps the lock for at least d after the grant, even if Unlock comes earlier or the
// process dies. An earlier Unlock ends the hold, and Redis keeps the lock for the rest of d. Use it
// for work that must not run twice within d on machines whose clocks differ. The first lease is d
// at least, so the lock of a dead holder also stays for d at least. At least 10 ms. Under re-entry
// the latest minimum applies. ForceUnlock frees the lock at any time.
//
// An acquisition fails with a *ConfigError if d is longer than WithLease or WithMaxHold. It also fails
// with WithCohort, and for an RWMutex, a Multi and a Quorum.
func WithMinHold(d time.Duration) LockOption { return LockOption{kind: minHoldOption, d: d} }

// WithCohort lets the goroutines of this client pass the lock on in memory, without a round trip.
// The lock stays held in Redis meanwhile. A cohort is all acquisitions of one lock, or of one side
// of an RWMutex, with the same options. WithWait may differ. They are served in the order of
// arrival. Readers of a cohort share one read hold in Redis. Use WithCohort for a hot lock that one
// process takes many times in a row.
//
// The cohort passes the lock on for up to d after Redis granted it. So others wait longer than
// without a cohort: for d at most, and then for the hold that is under way. A lock that no
// goroutine of the cohort wants is released after about the time that it took to get it. That is 1
// to 10 ms, and at most d. The least d is 1 ms.
//
// In general Unlock returns before the lock is released in Redis. If the process ends without
// Client.Close, the lock may stay held for one lease after the last Unlock. If the lock is lost,
// all holds of the cohort end. Successive holds may have the same Hold.Owner.
//
// With WithFencing each hold has a token of its own. The cohort takes a block of tokens at once, so
// there are gaps, and Status.Token may be ahead. An owner (Client.WithOwner) re-enters in Redis.
//
// An acquisition fails with a *ConfigError if WithCohort is combined with WithLease or WithMaxHold,
// or with WithFencing for a reader. It also fails for a FairMutex, a Multi and a Quorum.
//
// Source: D. Dice, V. J. Marathe, N. Shavit, "Lock Cohorting", PPoPP 2012; docs/cohorts.md.
func WithCohort(d time.Duration) LockOption { return LockOption{kind: cohortOption, d: d} }

// WithBackoff makes the wait ask Redis again and again: it does not wait for messages, and subscribes
// to nothing. The first pause is first. Each further one is twice as long, up to max. The actual pause is
// up to half shorter, at random. First is at least 1 ms, and 0 means 1 ms. Max is at least first.
//
// Use it for a lock whose holders publish nothing, such as a spin lock of Redisson. It waits as that does
// with WithBackoff(time.Millisecond, 128*time.Millisecond). Config.Backoff does it for a whole client.
//
//   - Only the first waiter of a process for a lock asks. It asks once more right before its time is
//     over, and also when the lease of the holder ends.
//   - While a goroutine of this client holds the lock, the others wait for its Unlock, which hands the
//     lock over. Until then the first of them asks Redis only every Config.PollCap.
//   - After a time of max, Unlock does not hand over. The waiters of this process sleep for one max, so
//     that a process that polls gets the lock. If no process takes it, the time until this happens
//     again doubles, up to 8 max.
//   - Of the waiters for a FairMutex only the first in the queue polls. A waiter learns within max that
//     it is the first: after 50 ms at least, and 1 s at most.
//
// A release publishes as always. A Quorum votes anew after each pause.
//
// Source: the backoff of RSpinLock of Redisson; docs/wire-format.md, "Spin lock".
func WithBackoff(first, max time.Duration) LockOption {
	return LockOption{kind: backoffOption, b: Backoff{First: first, Max: max}}
}

// minCohort is the shortest time for which a lock stays with a cohort.
const minCohort = time.Millisecond

// forever is the wait of Lock, which ctx alone bounds.
const forever = lock.Forever

// options checks the options of one acquisition and applies them to the defaults of the verb.
func options(m *lock.Manager, wait time.Duration, opts []LockOption) (*lock.Options, error) {
	o := &lock.Options{Lease: m.Lease(), Wait: wait}
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
		case minHoldOption:
			if err := inRange("WithMinHold", opt.d, minLease, longest); err != nil {
				return o, err
			}
			o.MinHold = opt.d
		case cohortOption:
			if err := inRange("WithCohort", opt.d, minCohort, longest); err != nil {
				return o, err
			}
			o.Cohort = opt.d
		case backoffOption:
			if err := opt.b.check("WithBackoff"); err != nil {
				return o, err
			}
			o.Backoff = lock.Backoff(opt.b)
		default:
			return o, &ConfigError{Field: "LockOption", Reason: "the zero value is no option"}
		}
	}
	if o.Cohort > 0 && (o.Fixed || o.MaxHold > 0) {
		return o, &ConfigError{Field: "WithCohort", Reason: "its hold serves one goroutine after another: it cannot be combined with WithLease or WithMaxHold"}
	}
	return o, checkMinHold(o)
}

// checkMinHold refuses a least time that other options contradict.
func checkMinHold(o *lock.Options) error {
	var why string
	switch {
	case o.MinHold == 0:
		return nil
	case o.Cohort > 0:
		why = "a cohort passes the lock on: it cannot be combined with WithCohort"
	case o.Fixed && o.MinHold > o.Lease:
		why = fmt.Sprintf("%v is longer than WithLease, %v", o.MinHold, o.Lease)
	case o.MaxHold > 0 && o.MinHold > o.MaxHold:
		why = fmt.Sprintf("%v is longer than WithMaxHold, %v", o.MinHold, o.MaxHold)
	default:
		return nil
	}
	return &ConfigError{Field: "WithMinHold", Reason: why}
}

// acquire takes a single lock.
func acquire(ctx context.Context, r *lock.Ref, wait time.Duration, opts []LockOption) (*Hold, error) {
	o := r.Manager().Plain(wait)
	if len(opts) > 0 {
		var err error
		if o, err = optionsOf(r, wait, opts); err != nil {
			return nil, err
		}
	}
	h, err := r.Acquire(ctx, o)
	return (*Hold)(h), err
}

// optionsOf are the options of an acquisition of a single lock.
func optionsOf(r *lock.Ref, wait time.Duration, opts []LockOption) (*lock.Options, error) {
	o, err := options(r.Manager(), wait, opts)
	if err != nil {
		return nil, err
	}
	if o.MinHold > 0 && !r.Exclusive() {
		return nil, &ConfigError{Field: "WithMinHold", Reason: "it is for a Mutex and a FairMutex: readers of an RWMutex may come and go meanwhile"}
	}
	if o.Cohort > 0 && r.Fair() {
		return nil, &ConfigError{Field: "WithCohort", Reason: "a FairMutex is served in the order of arrival, across processes"}
	}
	if o.Cohort > 0 && o.Fenced && r.Read() {
		return nil, &ConfigError{Field: "WithCohort", Reason: "tokens of readers grow from process to process: it cannot be combined with WithFencing on the read side"}
	}
	return o, nil
}

// forceUnlockIf frees a single lock if owner holds it.
func forceUnlockIf(ctx context.Context, r *lock.Ref, owner string) (bool, error) {
	if owner == "" {
		return false, &ConfigError{Field: "owner", Reason: "it is empty; ForceUnlock frees a lock whoever holds it"}
	}
	return r.ForceUnlock(ctx, owner)
}

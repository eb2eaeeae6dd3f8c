package redlatch

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/protocol"
)

// LockOption changes one acquisition. Of several that are alike, the last one counts.
type LockOption struct {
	kind optionKind
	d    time.Duration
	n    int
	b    Backoff
	s    string
}

// WithLease takes the lock for d: the hold is not renewed and ends by itself. At
// least 10 ms. Under re-entry all holds of one owner share the lock's one expiry in
// Redis, so the longest lease among them counts. Unlock of an inner hold may make it longer (Hold.Unlock).
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
// beyond the wait for the lock itself, but for three quarters of the lease at most (or of WithMaxHold):
// replicas confirm no more than that. Under re-entry each hold needs its own confirmation.
//
// Replicas confirm the grant, not the renewals. If the primary is cut off from its replicas,
// another owner may get the lock after the first lease, while this hold is still renewed.
// With WithLease there are no renewals, so the whole lease is confirmed, unless the owner has further holds.
//
// Source: the WAIT command of Redis, as Redisson uses it; docs/wire-format.md, "Waiting for
// replicas".
func WithReplicas(n int, timeout time.Duration) LockOption {
	return LockOption{kind: replicasOption, n: n, d: timeout}
}

// WithMaxHold makes the hold end after d at the latest, with ErrLost. Neither the client nor a watchdog renews it
// beyond that. At least 10 ms. It ends a little earlier than d, as a lease does. Under re-entry all holds of one owner
// end together: the latest limit applies. If any hold has no limit, none applies. If only holds with WithLease have
// none, the lock is not renewed beyond the latest limit of the others. It ends with its lease. Config.MaxHold is the
// limit of acquisitions without this option.
func WithMaxHold(d time.Duration) LockOption { return LockOption{kind: maxHoldOption, d: d} }

// WithMinHold keeps the lock for at least d after the grant, even if Unlock comes earlier or the
// process dies. An earlier Unlock ends the hold, and Redis keeps the lock for the rest of d. Use it
// for work that must not run twice within d on machines whose clocks differ. The first lease is d
// at least, so the lock of a dead holder also stays for d at least. At least 10 ms. Under re-entry
// the latest minimum applies. ForceUnlock frees the lock at any time.
//
// An acquisition fails with a *ConfigError if d is longer than WithLease or WithMaxHold. It also fails
// with WithCohort, and for an RWMutex, a PermitSemaphore, a Multi and a Quorum.
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
// there are gaps, and Status.Token may be ahead.
//
// An acquisition fails with a *ConfigError if WithCohort is combined with WithLease, WithMaxHold,
// WithMinHold or WithNote, with WithFencing for a reader, or with an owner (Client.WithOwner). It also fails for a
// FairMutex, a PermitSemaphore, a Multi and a Quorum.
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
//   - Only the first waiter of a process for a lock asks, at its own pauses, however short those of the others
//     are. It asks once more right before its time is over, and also when the lease of the holder ends. Pauses
//     begin anew when the process is granted the lock.
//   - While a goroutine of this client holds the lock, the others wait for its Unlock, which hands the
//     lock over. Until then the first of them asks Redis only every Config.PollCap.
//   - After a time of max, Unlock does not hand over. The waiters of this process sleep for one max, so
//     that a process that polls gets the lock. If no process takes it, the time until this happens
//     again doubles, up to 8 max.
//   - Of the waiters for a FairMutex only the first in the queue polls. A waiter learns within max that
//     it is the first: after 50 ms at least, and 1 s at most.
//
// A release publishes as always. A Quorum votes anew after each pause. Its waiters in one process take turns.
//
// Source: the backoff of RSpinLock of Redisson; docs/wire-format.md, "Spin lock".
func WithBackoff(first, max time.Duration) LockOption {
	return LockOption{kind: backoffOption, b: Backoff{First: first, Max: max}}
}

// WithNote says what the hold is for, such as "deploy 4711, by ci". Status, the command and the console show the note,
// and so does the NotAcquiredError of an acquisition that finds the lock held. The note is one line of at most 256 bytes.
// Under re-entry the first note of the owner stays. A ticket contains the note, and Client.Attach writes it again.
//
// The client writes the note in the background after the acquisition, and with each renewal. It stands beside the lock, in the
// hash "redlatch:note:{name}:owner". Unlock of the owner's last hold removes it. If Redis refuses the note, the hold has none. An
// acquisition fails with a *ConfigError if WithNote is combined with WithCohort.
func WithNote(text string) LockOption { return LockOption{kind: noteOption, s: text} }

// WithRecall makes the context of the hold (Hold.Context) end when somebody asks for the lock back (Mutex.Recall). The
// cause then matches ErrRecalled. The lock stays held until Unlock. See Hold.Recalled.
func WithRecall() LockOption { return LockOption{kind: recallOption} }

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
	noteOption
	recallOption

	// restartDelay is no option: a Quorum's servers set it. It bounds an option as another option does.
	restartDelay
)

// lockKinds are kinds of locks, or sides of one.
type lockKinds uint8

const (
	aMutex lockKinds = 1 << iota
	aFairMutex
	aWriter
	aReader
	aPermit
	aMulti
	aQuorum
)

// optionRow is all that is known of an option beside its effect.
type optionRow struct {
	name    string
	apply   func(o *lock.Options, given LockOption) error // says what is wrong with the value
	refused []refusal
}

// refusal is a use of an option that is refused: for locks of these kinds, if there are any, and together
// with the other option, if there is one. Every other use works.
type refusal struct {
	kinds  lockKinds
	with   optionKind
	longer bool   // only if its time is longer than that of the other option
	why    string // a clause
}

const (
	minCohort = time.Millisecond // the shortest time for which a lock stays with a cohort

	severalHolders = "a PermitSemaphore has several holders"
	oneAtATime     = "its hold serves one goroutine after another"
	endsBefore     = "the hold would end before the lock may be free"
)

// optionTable has a row for each option. The table of docs/choosing.md is made of it.
var optionTable = [...]optionRow{
	leaseOption: {
		name: "WithLease",
		apply: func(o *lock.Options, given LockOption) error {
			o.Lease, o.Fixed = given.d, true
			return inRange("WithLease", given.d, minLease, longest)
		},
		refused: []refusal{
			{kinds: aQuorum, with: restartDelay, longer: true, why: "a restarted server would count too early"},
		},
	},
	waitOption: {
		name: "WithWait",
		apply: func(o *lock.Options, given LockOption) error {
			if given.d < 0 {
				return &ConfigError{Field: "WithWait", Reason: fmt.Sprintf("%v is negative", given.d)}
			}
			o.Wait = given.d
			return nil
		},
	},
	fencingOption: {
		name:  "WithFencing",
		apply: func(o *lock.Options, _ LockOption) error { o.Fenced = true; return nil },
		refused: []refusal{
			{kinds: aPermit, why: severalHolders},
		},
	},
	replicasOption: {
		name: "WithReplicas",
		apply: func(o *lock.Options, given LockOption) error {
			if given.n < 1 || given.d < time.Millisecond {
				return &ConfigError{Field: "WithReplicas", Reason: fmt.Sprintf("%d replicas within %v: at least one, and 1ms", given.n, given.d)}
			}
			o.Replicas, o.ReplicaTimeout = given.n, min(given.d, longest)
			return nil
		},
	},
	maxHoldOption: {
		name: "WithMaxHold",
		apply: func(o *lock.Options, given LockOption) error {
			o.MaxHold = given.d
			return inRange("WithMaxHold", given.d, minLease, longest)
		},
	},
	cohortOption: {
		name: "WithCohort",
		apply: func(_ *lock.Options, given LockOption) error {
			return inRange("WithCohort", given.d, minCohort, longest)
		},
		refused: []refusal{
			{kinds: aFairMutex, why: "a FairMutex is served in the order of arrival, across processes"},
			{kinds: aPermit, why: severalHolders},
			{kinds: aMulti | aQuorum, why: "a Multi or a Quorum cannot be passed on in memory"},
			{with: leaseOption, why: oneAtATime},
			{with: maxHoldOption, why: oneAtATime},
			{kinds: aReader, with: fencingOption, why: "tokens of readers grow from process to process"},
		},
	},
	minHoldOption: {
		name: "WithMinHold",
		apply: func(o *lock.Options, given LockOption) error {
			o.MinHold = given.d
			return inRange("WithMinHold", given.d, minLease, longest)
		},
		refused: []refusal{
			{kinds: aWriter | aReader, why: "readers of an RWMutex may come and go meanwhile"},
			{kinds: aPermit, why: severalHolders},
			{kinds: aMulti | aQuorum, why: "the members of a Multi or a Quorum are released together"},
			{with: cohortOption, why: "a cohort passes the lock on"},
			{with: leaseOption, longer: true, why: endsBefore},
			{with: maxHoldOption, longer: true, why: endsBefore},
		},
	},
	backoffOption: {
		name: "WithBackoff",
		apply: func(o *lock.Options, given LockOption) error {
			err := given.b.check("WithBackoff")
			o.Backoff = lock.Backoff(given.b)
			return err
		},
	},
	noteOption: {
		name: "WithNote",
		apply: func(o *lock.Options, given LockOption) error {
			o.Note = given.s
			return wrong("WithNote", protocol.CheckNote(given.s))
		},
		refused: []refusal{
			{with: cohortOption, why: oneAtATime},
		},
	},
	recallOption: {
		name:  "WithRecall",
		apply: func(o *lock.Options, _ LockOption) error { o.Recalls = true; return nil },
	},
	restartDelay: {name: "Config.RestartDelay"},
}

package redlatch

import "github.com/redlatch/redlatch/internal/lockerr"

// The conditions a caller can tell apart with errors.Is. One condition has one name,
// whichever method reports it. Errors of the network and of the server are wrapped as
// they are. They never turn into ErrNotAcquired.
var (
	// ErrNotAcquired: the wait ended before the lock was granted, the permits were taken or the latch was open. Another
	// owner holds the lock, or there was no time to ask. Nothing is held and no trace is left in Redis, except by a Quorum
	// (Quorum.Lock). The error also matches the context's error if that ended the wait.
	ErrNotAcquired = lockerr.ErrNotAcquired

	// ErrLost: the hold is gone without having been released. Its lease ended,
	// it was forced open, or the server lost its key.
	ErrLost = lockerr.ErrLost

	// ErrReleased: the hold was released or detached by its holder.
	ErrReleased = lockerr.ErrReleased

	// ErrRecalled: somebody has asked for the lock back (Mutex.Recall). The lock is still held. The error is a *RecalledError.
	ErrRecalled = lockerr.ErrRecalled

	// ErrNotCalled: Do or DoValue did not call its function, because the lock was not acquired. The
	// error also matches the reason. An error of the function never matches ErrNotCalled, even if that
	// comes from a Do inside it.
	ErrNotCalled = lockerr.ErrNotCalled

	// ErrReentry: the context stems from a hold of this lock, and asks for it under
	// another owner. Waiting would be a deadlock. See Client.WithOwner.
	ErrReentry = lockerr.ErrReentry

	// ErrUpgrade: the owner holds the read side of the lock and asks for the write
	// side. It would wait for itself. Release the read side first.
	ErrUpgrade = lockerr.ErrUpgrade

	// ErrUnknownOutcome: the request may have been sent, no reply came in time, and
	// repeating it did not help. After an acquisition a compensating release was
	// attempted. The lock is free after one lease at the latest. A request for a Semaphore or
	// a Latch may have counted: do not repeat it.
	ErrUnknownOutcome = lockerr.ErrUnknownOutcome

	// ErrNotReplicated: the lock was granted, but fewer replicas than WithReplicas asks
	// for confirmed it in time. The lock was released again.
	ErrNotReplicated = lockerr.ErrNotReplicated

	// ErrClosed: the client is closed, closing or shutting down.
	ErrClosed = lockerr.ErrClosed

	// ErrInvalidName: the text cannot name a lock.
	ErrInvalidName = lockerr.ErrInvalidName

	// ErrWrongType: the key under the lock's name is not a lock of this kind, or is not the
	// number of a semaphore or a latch. It was not touched.
	ErrWrongType = lockerr.ErrWrongType

	// ErrUnsupported: the server or the topology cannot do what was asked.
	ErrUnsupported = lockerr.ErrUnsupported
)

// NotAcquiredError is an ErrNotAcquired of a single lock with what the server has said last. It has four fields.
// Err says the same for people. Holder is the owner that held the lock, as Hold.Owner names it, or "" if
// none was seen, for example for lack of time. Note is the note of that owner (WithNote). TTL is
// what was left of its lease, negative without expiry. A PermitSemaphore names no holder: its TTL is the time until a permit comes back. Match the
// error by errors.AsType[*NotAcquiredError].
type NotAcquiredError = lockerr.NotAcquiredError

// RecalledError is an ErrRecalled with the Lock, the Author and the Reason of the request. Author is the Config.Name of
// the client that asked. Match the error by errors.AsType[*RecalledError].
type RecalledError = lockerr.RecalledError

// ConfigError says which setting is wrong, and why. No lock was taken, and nothing was sent, except by a Multi or a
// Quorum, which may have asked its servers. It has two fields, both strings. Field names the field of Config, the
// option, the function that made the lock, or the method with a wrong number or time ("Acquire", "Extend"). It may also
// be a short word such as "url", "lock", "lease" or "ticket". Reason is for people. Match the error by
// errors.AsType[*ConfigError].
type ConfigError = lockerr.ConfigError

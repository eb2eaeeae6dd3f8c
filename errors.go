package redlatch

import "github.com/redlatch/redlatch/internal/lockerr"

// The conditions a caller can tell apart with errors.Is. One condition has one
// name in every verb. Errors of the network and of the server are wrapped as they
// are; they never turn into ErrNotAcquired.
var (
	// ErrNotAcquired: another owner holds the lock, and the wait ended. Nothing
	// is held and no trace is left in Redis. Joined with the context's error if
	// that ended the wait.
	ErrNotAcquired = lockerr.ErrNotAcquired

	// ErrLost: the hold is gone without having been released. Its lease ended,
	// it was forced open, or the server lost its key.
	ErrLost = lockerr.ErrLost

	// ErrReleased: the hold was released or detached by its holder.
	ErrReleased = lockerr.ErrReleased

	// ErrReentry: the lock is held by the context that asks for it again, under
	// another owner: waiting would be a deadlock. See Client.WithOwner.
	ErrReentry = lockerr.ErrReentry

	// ErrUpgrade: the owner holds the read side of the lock and asks for the write
	// side: it would wait for itself. Release the read side first.
	ErrUpgrade = lockerr.ErrUpgrade

	// ErrUnknownOutcome: the request was sent, or may have been, no reply came in
	// time, and repeating it did not resolve it. After an acquisition a
	// compensating release was attempted; at most one lease may pass until the
	// lock frees.
	ErrUnknownOutcome = lockerr.ErrUnknownOutcome

	// ErrNotReplicated: the lock was granted, but fewer replicas than WithReplicas asks
	// for confirmed it in time. It was given back.
	ErrNotReplicated = lockerr.ErrNotReplicated

	// ErrClosed: the client is closed or closing.
	ErrClosed = lockerr.ErrClosed

	// ErrInvalidName: the text cannot name a lock.
	ErrInvalidName = lockerr.ErrInvalidName

	// ErrWrongType: the key under the lock's name is something else than this
	// kind of lock. It was not touched.
	ErrWrongType = lockerr.ErrWrongType

	// ErrUnsupported: the server or the topology cannot do what was asked.
	ErrUnsupported = lockerr.ErrUnsupported
)

// ConfigError says which setting is wrong, and why. Nothing is held after it, and nothing
// was sent, except by a Quorum, which may have asked its servers. It has two fields, both
// strings. Field is the field of Config, the option, the function that made the lock, "url",
// "driver" or "owner". Reason is for people. Match it by errors.AsType[*ConfigError].
type ConfigError = lockerr.ConfigError

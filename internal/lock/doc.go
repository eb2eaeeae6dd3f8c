// Package lock is the life of one lock in this process: how it is acquired, kept and released.
//
// An acquisition makes a [Grant]: one owner's time on one lock. An attempt acquires it, with one
// request or with a wait. It is one script, and so is its release. One engine renews all grants of
// a [Manager] (package renew says how it decides whom to believe). One hub wakes all waiters
// (package waitqueue). Repeating a script is harmless, which is how lost replies are resolved
// (package script).
//
// The files in the order in which an acquisition passes through them: ref, acquire, attempt,
// request, wait, grant, hold, release. Beside them: renewal and confirm (the lease), keepalive
// (waiters for fair locks), owner (re-entry), together (several mutexes by one script), inspect,
// manager, lifecycle and report (start and end).
//
// Between any two lines of an acquisition this can happen:
//
//	the process dies         Redis frees the lock after the lease
//	the reply is lost        the same request is sent again
//	the caller cancels       a release follows the request on the same connection
//	the reply comes too late a grant whose deadline has passed is none
//	the manager closes       waiters get ErrClosed, what was granted is released
//
// And of a release:
//
//	the reply is lost        the same request is sent again, until the release timeout
//	it never arrives         the last hold: the lock ends with its lease, as nobody renews it.
//	                         Not the last hold: the next renewal tells Redis of the end of the
//	                         write side, and counts are set anew by each request
//	the hold is gone         ErrLost, unless the request was repeated: then the first has freed it
//
// # Mutexes
//
// Whoever holds several takes them in this order:
//
//	Grant.mu → group.mu (package multilock) → Hold.mu
//	Grant.mu → the mutexes of the renewal engine, the session and the reporter
//
// owner.mu, keepAlive.mu and lifecycle.mu are taken while no other of this package is held; while
// keepAlive.mu is held, the wait queues may be told. A Grant's Expire takes its mutex, so it is not
// called below any of these. No other mutex is taken while background.mu is held.
//
// # Goroutines
//
// The package starts four kinds, and Close waits for each: one that closes the manager; one for
// the keep-alive while somebody waits for a fair lock, and one for each of its requests; one that
// reports, while there is something to report; and one for each compensating release.
package lock

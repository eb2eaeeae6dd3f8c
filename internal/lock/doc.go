// Package lock is the life of one lock in this process: how it is acquired, kept and released.
//
// An acquisition makes a [Grant]: one owner's time on one lock. An attempt acquires it, with one
// request or with a wait. Each request is one script. A release is one script or two commands. One
// engine renews all grants of a [Manager] (package renew says until when a grant is trusted). One
// hub wakes all waiters (package waitqueue). A request without a reply is sent again, because
// repeating it is harmless (package script).
//
// The files in the order in which an acquisition passes through them: ref, acquire, attempt,
// request, wait, grant, hold, release. Beside them: renewal and confirm (the lease), keepalive
// (waiters for fair locks), minhold (MinHold), extend, owner (re-entry), together (several mutexes by one script), inspect
// (status, forced unlock), names (of clients), manager, lifecycle, background and report (start and end). The modes of locks are in package script.
//
// Between any two lines of an acquisition this can happen:
//
//	the process dies         Redis frees the lock after the lease
//	the reply is lost        the same request is sent again
//	the caller cancels       a release follows the request on the same connection
//	the reply comes too late the grant does not count if its deadline has passed
//	the manager closes       waiters get ErrClosed, what was granted is released
//	the manager shuts down   waiters get ErrClosed. A first request that was under way counts: it is
//	                         waited for, and so is the hold that it grants
//
// Between any two lines of a release this can happen:
//
//	the reply is lost        the same request is sent again, until the release timeout
//	no request arrives       the last hold: nobody renews the lock, and it ends with its lease.
//	                         Any other hold: Redis has too high a count until the owner's next
//	                         acquisition or release sets it. Nobody renews the timeout key of a
//	                         read hold. The next renewal ends the write side (writeEnded)
//	the hold is gone         ErrLost. But if the request of the last hold was repeated, the
//	                         first one counts as the one that has freed the lock
//
// # Mutexes
//
// Whoever holds several takes them in this order:
//
//	Grant.mu → group.mu (package multilock) → Hold.mu
//	Grant.mu → the mutex of a cohort (package cohort) → Hold.mu, the mutex of a renew.Item
//	Grant.mu → the mutexes of the renewal engine, the session and the reporter
//	lifecycle.mu → the mutex of the renewal engine
//
// Whoever takes owner.mu or keepAlive.mu holds no other mutex of this package. Below
// keepAlive.mu waiters may be woken (package waitqueue). A Grant's Expire takes the grant's mutex,
// so it is not called below any of these. No other mutex is taken while background.mu is held.
//
// # Goroutines
//
// Close waits for all goroutines of the package:
//
//   - one that closes the manager;
//   - one for the keep-alive while somebody waits for a fair lock, and one for each of its requests;
//   - one that reports, while there is something to report, for the release timeout at most;
//   - one for each compensating release, and for each late release.
package lock

// Package lock is the life of one lock in this process: how it is acquired, kept and released.
//
// An acquisition makes a [Grant]: one owner's time on one lock. An attempt acquires it, with one
// request or with a wait. Each request is one script. A release is one script or two commands. One
// engine renews all grants of a [Manager] (package renew says until when a grant is trusted). One
// hub wakes all waiters (package waitqueue). A request without a reply is sent again, because
// repeating it is harmless (package script).
//
// The files in the order in which an acquisition passes through them: ref, acquire, attempt, request, wait, grant, hold,
// release, end, settle. Beside them: renewal and confirm (the lease), protect (the session), owner (re-entry), together
// (several mutexes by one script), ticket, recall, event and waits (what observers and the watchdog are told), manager
// and close. The modes of locks are in package script, waiters for fair locks in package keepalive, and what closing
// waits for in package life. Package operator has what people ask of a lock.
//
// # An acquisition
//
// Between any two lines of it this can happen:
//
//	the process dies         Redis frees the lock after the lease
//	the reply is lost        the same request is sent again
//	the caller cancels       a release follows the request on the same connection
//	the reply comes too late the grant does not count if its deadline has passed
//	the manager closes       waiters get ErrClosed, what was granted is released
//	the manager shuts down   waiters get ErrClosed. A first request that was under way counts: it is
//	                         waited for, and so is the hold that it grants
//
// # Holders
//
// Redis says who gets a lock. But a server may have lost what this process still holds, as after a failover. So
// holders.go knows the grants that hold a lock here: one writer, or readers. While one of them lasts, no other
// owner of the process enters, whatever a server says. A grant that is refused for that has Redis asked whether the
// other one is still there. The answer ends that one, or leaves it. An owner that Redis has granted meanwhile stays there
// and blocks other processes only. When it gives up, it is released as a grant that came too late.
//
// # An end
//
// A hold ends once, with one reason, and a grant ends with its last hold. The end has two halves:
// first in this process (end.go), then in Redis (settle.go).
//
//	attempt ──▶ held ──▶ ended ──▶ told     Unlock, Close, WithMaxHold is over
//	   │          └────▶ ended              gone, detached, or not renewed: nothing is sent
//	   └───────────────▶ ended ──▶ told     refused, cancelled, or granted when nobody waited
//
// In this process, finish ends a grant under its mutex. It ends the holds that are left, and takes the
// grant out of the renewal engine, the holders of its lock and its owner's table. No other function does that. So an
// owner's table has a grant from the first request to the end. Whoever ends a grant also sends the
// request. No goroutine leaves that to another one.
//
// In Redis, an ending makes one owner say what the grant says now. There are three cases:
//
//	other holds remain       the counts of both sides, and at least the lease of what remains
//	MinHold is not over      the lock stays for the rest, under a name that no request knows
//	otherwise                nothing. A mutex takes two commands if that is safe (freeInTwo)
//
// An ending states counts and does not change them by one. So it may be repeated, and an ending for
// something that was never there does no harm. These are endings:
//
//	Unlock                   its caller waits for the answer
//	Unlock of a Multi        many in one write
//	a cancelled attempt      sent aside. Its caller waits for Grace, and else learns ErrUnknownOutcome
//	a grant for a waiter     sent aside by the releasing goroutine, which has learned of the grant
//	 that has left
//	WithMaxHold is over      sent aside, if a request has asked for more: for an inner hold, before there was the
//	                         limit, or by a renewal that was repeated (Term.Outlasts)
//	a hold was not renewed   sent aside, if a request for more than its lease had no answer (Term.Outlasts), or was
//	                         under way (outlives). Otherwise the TTL ends by itself, and until then the holder has
//	                         time to stop
//	Close                    each by itself: one that fails costs the others nothing
//
// Work aside is counted (background), and Close waits for it. settled reads every answer. tell says who
// learns of it: the next waiters of this process, or the grant if it goes on.
//
// Between any two lines of an end this can happen:
//
//	the process dies         Redis has the old TTL, or that of the ending
//	the reply is lost        the request is sent again, until the release timeout. "Not held" is then
//	                         what the first request has left behind. But if the deadline had passed when
//	                         the hold ended (a paused process with a watchdog), it is ErrLost
//	no request arrives       the last hold: nobody renews the lock, and it ends with its TTL.
//	                         Any other hold: Redis has too high a count until the owner's next
//	                         request sets it. Nobody renews the timeout key of a read hold. The next
//	                         renewal ends the write side (writeEnded)
//	the lock is gone         ErrLost, from the release or from the deadline, whichever is first
//	a late request arrives   a renewal, an extension or a re-entry finds no field of the owner. It changes
//	                         nothing, because an owner's name is used for one grant only. A first
//	                         request on a connection that has broken is granted to nobody, for its lease
//	a re-entry is under way  a release waits for it for half of its timeout, and Detach does not. The re-entry
//	                         is no hold then: its request tells Redis what is left, and asks once more
//	a request overtakes it   the release is refused if the later request said that the grant, or its write side, has
//	                         ended. Then Redis is asked whether it still has what is left, if anything is (look).
//	                         Any other refusal is a loss
//	a late grant arrives     to an ended grant no hold is added. Whoever reads the answer releases it
//	a clock jumps            the deadline passes on either clock. The hold is lost, as above
//	the manager closes       Close ends what is held. An Unlock that comes later waits for Close
//
// # MinHold
//
// MinHold (Options.MinHold) is the time for which a lock stays at least. The acquisition asks for a
// lease of that time at least, and no request lowers a TTL while the lock is held. So Redis alone
// keeps the lock for that long. The release sets the TTL to the rest, and renames the owner's field.
// Nobody renews the lock then. MinHold counts from the moment at which the caller gets the hold
// (Hold.begin). A hold that no caller gets is released at once.
//
// # Extend
//
// Extend (Hold.Extend) is one renewal, by a term of its own. It raises the TTL for the owner, and never lowers it.
// Later renewals of the hold, if there are any, ask for as much. The deadline moves on only when Redis has confirmed that.
// Between any two lines this can happen:
//
//	the process dies         the lock ends with the TTL that Redis has: the old one, or d
//	the reply is lost        the same request is sent again
//	no reply comes in time   ErrUnknownOutcome. The deadline stays. If it passes, the lock is released, unless a
//	                         renewal would have asked for as much (Term.Outlasts)
//	the hold is gone         ErrLost, as a renewal finds it
//	the hold is released     ErrReleased. A request behind the release finds nothing
//	the deadline passes      ErrLost. What was extended for nobody is released
//
// # Tickets
//
// Ticket (Hold.Ticket) ends a hold and sends nothing. Attach has Redis move the owner's field to a new owner of this
// process. Nobody else knows that name, so of all who attach one ticket, one has a hold. The move is repeated like any request.
// What is told of a hold is told of it: its grant is in the books when the answer has been read, and not before.
// Between any two lines this can happen:
//
//	the process dies         the lock ends with the TTL that Redis has
//	the reply is lost        the same request is sent again. It finds the new owner's field
//	no reply comes in time   a move back follows. Without an answer to that, ErrUnknownOutcome
//	the reply comes too late the same: it is no hold
//	another attaches         ErrLost. A late copy of the other request finds neither field
//	the lock is gone         ErrLost
//	a late request arrives   a renewal or a re-entry of the former owner finds no field. Before the move it makes a TTL
//	                         longer, or a count higher, which does not go along
//	another owner of this    ErrNotAcquired, and nothing is sent. Redis is asked whether that one is still there
//	 process holds the lock
//	the manager closes       an attachment under way counts, and its hold is released
//
// # Mutexes
//
// Whoever holds several takes them in this order:
//
//	Grant.mu → group.mu (package multilock) → Hold.mu
//	Grant.mu → the mutex of a cohort (package cohort) → Hold.mu, the mutex of a renew.Item
//	Grant.mu → owner.mu, the mutexes of the renewal engine, the session and the reporter
//
// No mutex is taken while owner.mu is held. A Grant's Expire takes the grant's mutex, so it is not called
// below any of these.
//
// # Goroutines
//
// Close waits for all goroutines of the package:
//
//   - one that closes the manager;
//   - one for the keep-alive while somebody waits for a fair lock, and one for each of its requests;
//   - one that reports, while there is something to report, for the release timeout at most;
//   - one for each request aside that tells of an end, moves a hold back to its ticket, or looks.
//
// Nobody waits for the one that takes the context of a hold off its parent (Hold.bind): it runs code of the caller.
package lock

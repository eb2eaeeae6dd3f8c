// Package renew keeps leases alive and says when one is over.
//
// # Who decides what
//
// Redis decides who holds a lock. The holder decides, on its own clock, until when it may
// believe that it holds it. A [Term] says until when, and how the lease is to be renewed.
//
// A confirmed request is trusted from the moment before it left, not from the arrival of the
// reply. The trust ends a margin before Redis could end the lease:
//
//	       request          reply                                  expiry in Redis
//	          |               |                                           |
//	asked ----+---------------+------- due ---------------- deadline --+--+
//	          |<------------- trusted: lease − margin --------------->|
//
// In Redis a lease only grows while it is held. So the trust is the latest moment that any
// request confirmed, in whatever order the replies are read ([Trust]). It never falls. The plan
// is whatever was set last: Lease, Every, Stop and Until. Until caps the deadline and leaves the trust
// alone. An item is due when Every has passed since the last confirmation. It is due earlier if
// that request asked for a shorter lease than a renewal does.
//
// The monotonic clock stops while a machine is suspended, and the wall clock may be set. A term
// is over as soon as either clock says so.
//
// # States of an item
//
//	watched   in the heap; next event: its due time, or its deadline if it is not renewed
//	renewing  in the heap; next event: its deadline; a renewal is under way
//	ended     not in the heap, and never again
//
// What can happen to an item while it is being renewed, and what follows:
//
//	confirmed            Watched. It is trusted by what its renewal asked for, even if the
//	                     plan has changed since.
//	"not the owner"      Ended; Lost is called.
//	error, no reply      Watched, and due again soon: the nearer the deadline, the sooner.
//	                     The other items of its batch have answers of their own.
//	the deadline passes  Ended; Lost is called. A confirmation that comes later is ignored.
//	                     Or the item is unconfirmed, see below.
//	removed (released)   Ended; Lost is not called. The reply is ignored. The late renewal
//	                     cannot extend a later hold, which has another owner's name.
//	Set                  Renewing, by the new plan. A plan changes before an answer is taken
//	                     or after it, under the engine's mutex.
//
// One loop serves all items of an engine. It never waits for Redis: requests are sent by
// goroutines of their own. These are few at a time, because each request is bounded by a
// fraction of the time that its items have left. An engine ends an item only for the two reasons
// above, never because of an error.
//
// # Unconfirmed items
//
// While a process is paused, somebody else may renew for it (Guard). When the process resumes,
// its own clock says that its leases are over, and Redis may say that they are not. An item
// whose deadline has passed is then unconfirmed: it is not trusted, and not lost. The engine
// asks for it at once, and the answer decides:
//
//	confirmed              watched, with more trust
//	"not the owner"        ended, Lost is called
//	no answer within       ended, Lost is called
//	Guard.Bound
//	paused again           unconfirmed for Guard.Bound once more: the answer may have been
//	                       about to arrive
//
// A guard does not help a process that runs and is cut off from Redis. An item is unconfirmed
// for at most Guard.Bound after the engine noticed a pause, and only until a request that was
// sent after that is confirmed. The engine notices a pause in four ways:
//
//   - its loop wakes much later than planned;
//   - one round of its loop takes long;
//   - the wall clock jumps;
//   - an item is over at the moment at which it is confirmed.
//
// A pause too short to be noticed leaves a healthy lease enough time for a renewal.
package renew

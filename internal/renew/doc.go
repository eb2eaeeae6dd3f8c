// Package renew keeps leases alive and says when one is over.
//
// # Who is authoritative for what
//
// Redis decides who holds a lock. The holder decides, on its own clock, until when it may
// believe that it is the one. A [Term] says until when, and what is to become of the lease.
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
// is what was said last: Lease, Every and Until. Until caps the deadline and leaves the trust
// alone. An item is due when Every has passed since the last confirmation, and earlier where
// that one asked for less than a renewal does.
//
// Clocks: the monotonic clock stops while a machine is suspended, the wall clock
// may be set. A term is over as soon as either of them says so.
//
// # States of an item
//
//	watched   in the heap, next event: its due time, or its deadline where it is
//	          not renewed
//	flying    in the heap, next event: its deadline; a renewal is under way
//	ended     not in the heap, and never again
//
// What can happen to a flying item, and what follows:
//
//	confirmed            watched; trusted by what its renewal asked for, also where
//	                     the plan has changed since
//	"not the owner"      ended, Lost is called
//	error, no reply      watched, due again soon: the nearer the deadline, the sooner;
//	                     the others of its batch have answers of their own
//	the deadline passes  ended, Lost is called; a confirmation that comes later is
//	                     ignored. Or doubtful, see below
//	removed (released)   ended, Lost is not called; the reply is ignored. What the late
//	                     renewal finds in Redis has another owner's name
//	Set                  flying, by the new plan. A plan changes before an answer is
//	                     taken or after it, under the engine's mutex
//
// One loop serves all items of an engine. It never waits for Redis: renewals fly
// in goroutines of their own, at most a few at a time because each is bounded by
// a fraction of the time that its items have left. An engine gives up on an item
// only for the two reasons above, never because of an error.
//
// # Doubt
//
// While a process is paused, another may renew for it (Guard). When the process goes on,
// its own clock says that its leases are over, and Redis may say that they are not. An
// item whose deadline has passed is then doubtful: not to be trusted, and not lost. It is
// asked for at once, and the answer decides:
//
//	confirmed              watched, with more trust
//	"not the owner"        ended, Lost is called
//	no answer within       ended, Lost is called
//	Guard.Bound
//	paused again           doubtful for as long again: the answer may have been there
//
// A guard is no excuse for a process that runs and is cut off from Redis. Only these are
// doubtful: items that nobody asked for, or got an answer for, since the engine noticed a
// pause, and that only for Guard.Bound after it. It notices one by its own loop, which
// wakes much later than it was to, or finds that a round has taken long, or by a wall clock
// that jumped, or by an item that is over at the moment in which it is confirmed. A pause too
// short to be noticed leaves a sound lease enough time for a renewal.
package renew

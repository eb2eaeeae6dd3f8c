// Package renew keeps leases alive and says when one is over. It is used by the
// library for its own holds and by the watchdog service for those of others.
//
// # Who is authoritative for what
//
// Redis decides who holds a lock. The holder decides, on its own clock, until
// when it may believe that it is the one. The two meet in a [Term]: one stretch
// of a lease that Redis has confirmed. It is trusted from the moment before the
// request left, not from the arrival of the reply, and ends a margin before Redis
// could end it:
//
//	       request          reply                                  expiry in Redis
//	          |               |                                           |
//	asked ----+---------------+------- due ---------------- deadline --+--+
//	          |<------------- trusted: lease − margin --------------->|
//
// Clocks: the monotonic clock stops while a machine is suspended, the wall clock
// may be set. A term is over as soon as either of them says so.
//
// # States of an item
//
//	watched   in the heap, next event: its due time, or its deadline where it is
//	          not renewed
//	flying    in the heap, next event: its deadline; a renewal is under way
//	gone      not in the heap
//
// What can happen to a flying item, and what follows:
//
//	confirmed            watched, with a new term
//	"not the owner"      gone, Lost is called
//	error, no reply      watched, due again soon: the nearer the deadline, the sooner
//	the deadline passes  gone, Lost is called; a confirmation that comes later is
//	                     ignored. Or doubtful, see below
//	removed (released)   gone, Lost is not called; the reply is ignored. The renewal
//	                     left before the release did, so it cannot revive anything
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
//	confirmed              watched, with a new term
//	"not the owner"        gone, Lost is called
//	no answer within       gone, Lost is called
//	Guard.Bound
//	paused again           doubtful for as long again: the answer may have been there
//
// A guard is no excuse for a process that runs and is cut off from Redis. Only these are
// doubtful: items that nobody asked for, or got an answer for, since the engine noticed a
// pause, and that only for Guard.Bound after it. It notices one by its own loop, which
// wakes much later than it was to, or finds that a round has taken long, or by a wall clock
// that jumped, or by a grant that is handed to it when it is over already. A pause too
// short to be noticed leaves a sound lease enough time for a renewal.
package renew

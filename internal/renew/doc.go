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
//	                     ignored
//	removed (released)   gone, Lost is not called; the reply is ignored. The renewal
//	                     left before the release did, so it cannot revive anything
//
// One loop serves all items of an engine. It never waits for Redis: renewals fly
// in goroutines of their own, at most a few at a time because each is bounded by
// a fraction of the time that its items have left. An engine gives up on an item
// only for the two reasons above, never because of an error.
package renew

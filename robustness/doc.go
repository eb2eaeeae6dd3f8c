// Package robustness drills failovers: it runs traffic, injects faults, records every grant, and
// checks the record. "make drills" runs it at length and prints the table of docs/guarantees.md. A
// short run is among the tests.
//
// A drill has one set of servers, one seeded plan of faults, and traffic for each level of
// guarantee: a few clients that contend for the level's own locks. All traffic of a drill meets the
// same faults at the same time, so that the rows can be compared. A drill never asks what the
// servers believe. Only what holders were told counts.
//
// # What is counted
//
// A span is one hold, from the return of Lock to the last moment at which Hold.Valid said yes. Both
// ends are on the safe side. So if two spans of one lock intersect, there were certainly two holders
// at one instant. Overlaps are such pairs.
//
// Tokens given again are those that two holds have in common, and those below the token of a hold
// that was certainly earlier. Where there are none, a guard stops every stale holder: the tests of
// package fence show that. Other tests cover a process that is paused between Valid and its effect.
//
// The longest time without service is the longest time after the first fault in which one of the
// briefly held locks was granted to nobody.
//
// # What must be true
//
// If a level promises something that did not hold, the drill fails. Some faults must break the
// weakest level, for example the promotion of a replica without the newest writes. Then the drill
// goes on until the level is broken, and fails if that never happens: a drill in which nothing can
// go wrong shows nothing. All other numbers are only reported.
//
//	plain                   nothing, in a failover
//	fencing                 nothing: a counter is lost like a lock
//	fencing by the clock    no token is given again (the clocks of a drill agree)
//	replicas                nothing for certain: the grant is confirmed, renewals are not
//	replicas, fixed lease   no overlap: everything that is relied on is confirmed
//	replicas and fencing    no token is given again
//	one replica of two      nothing: the other one may be chosen
//	quorum                  no overlap
//
// "Replicas" are all replicas. If all confirm, a lock that was held when the primary was lost is on
// the new primary, until the lease of its last confirmation ends. A holder that still reaches the
// old primary goes on renewing there, in vain. It is overtaken as soon as the new primary can grant.
// If all replicas must confirm, that is when the set is whole again. If one of two suffices, it is
// at once.
package robustness

// Package robustness drills failovers: traffic, faults, a history of every grant, and its
// check. "make drills" runs it at length and prints the table of docs/guarantees.md; a
// short one is among the tests.
//
// A drill is one set of servers, one seeded plan of faults, and for each level of guarantee
// a crew: a few clients that contend for the level's own locks. All crews of a drill go
// through the same faults at the same time, so that their rows can be compared. What the
// servers believe is never asked; only what holders were told counts.
//
// # What is counted
//
// A span is one hold, from the moment at which Lock had returned to the last one at which
// Hold.Valid said yes. Both ends are taken on the safe side, so two spans of one lock that
// intersect are two holders at the same instant, for certain. Overlaps are such pairs.
//
// A register is what a lock protects. Each holder writes into it again and again, the first
// time when it has just got the lock, which stands for reading what is there. A write is
// stale if another holder has begun after the writer did: the order of the first writes is
// the order of the holders. That needs neither clocks nor tokens, and so can be a judge of
// both. Every write goes into two columns: the open one takes all of them, the guarded one
// those that a fence lets pass. Asking Valid and writing are one step under the register's
// mutex; that a process can be paused between the two is the subject of other tests.
//
// Tokens given again are those that do not exceed the token of an earlier hold, as far as
// the two are in an order for certain, or that two holds have in common.
//
// The longest time without service is the longest one, after the first fault, in which one
// of the briefly held locks was granted to nobody.
//
// # What has to be so
//
// Where a level promises something, the drill fails if it did not hold. Where a fault has
// to break the weakest level, such as a replica that is promoted without the newest writes,
// the drill goes on until it has, and fails if it never does: a drill in which nothing can
// go wrong shows nothing. All other numbers are just that.
//
//	plain                   nothing, in a failover
//	fencing                 nothing: a counter is lost like a lock
//	fencing by the clock    no stale write passes the guard (the clocks of a drill agree)
//	replicas                nothing for certain: the grant is confirmed, renewals are not
//	replicas, fixed lease   no overlap: what is confirmed is all there is
//	replicas and fencing    no stale write passes the guard, and no token is given again
//	one replica of two      nothing: the other one may be chosen
//	quorum                  no overlap
//
// Replicas are all replicas. Where they confirm, a lock that was held when the primary was
// lost is on the new one until the lease of its last confirmation ends. A holder that still
// reaches the old primary goes on renewing there, to no avail. It is overtaken as soon as
// the new primary can grant, which with all replicas it cannot before the set is whole
// again, and with one of two at once.
package robustness

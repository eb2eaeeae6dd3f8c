// Package blocked shows who waits for whom, across locks. It finds the cycles of waits. A
// certain cycle was a deadlock when its last wait began. It still is one, unless a waiter has given up since.
//
// Redis records who holds a lock, and who waits for a fair lock. It records no other wait. So a client with
// Config.Protect reports its waits itself. Its heartbeat writes those that have lasted for longer than a
// heartbeat interval, which is a sixth of Config.LeaseTime. Package blocked sees
//
//   - waits of protected clients, for locks of every kind;
//   - waits of Go and Java in the queue of a fair lock, if a protected client holds that lock or waits for
//     it, or if Options.Locks names it.
//
// It does not see other waits:
//
//   - those of unprotected clients;
//   - those of Java threads for locks that are not fair;
//   - those of goroutines for the cohort of their own process;
//   - those of a Quorum for its members;
//   - those that are younger than a heartbeat interval.
//
// # Which cycles are certain
//
// Each wait names the holds that it is under: those whose Hold.Context the caller passed, those of the same
// Client.WithOwner, and those that a Multi has so far. Each wait also says since when it has gone on, and when
// its client last confirmed it. A cycle over such holds is certain if each of its waits was confirmed after the
// last of them had begun. Any other cycle is only possible:
//
//   - If a caller passes another context to Lock, only its process is known. Other goroutines of that process
//     may release the lock.
//   - A wait that was given up stays until the next heartbeat of its client. So one wait may have ended before
//     another began. If both go on, the next heartbeats confirm that.
//   - A wait that Read finds in a queue, or that a client of an earlier version reports, has no such times.
//
// The times are those of the server. Its clock may be set back, or a failover may lead to a server whose clock
// is behind. Until each client has sent two heartbeats, a cycle may then look certain although its waits missed
// each other by less than that.
//
// Anybody who may write to the keys of the protected clients can write a wait. Package blocked accepts from a
// client only owners that begin with its own id. It reads the graph step by step, so a wait may have ended
// meanwhile.
package blocked

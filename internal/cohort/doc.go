// Package cohort lets the goroutines of one client pass a lock on in memory.
//
// A cohort is all acquisitions of one side of a lock, by one client, with the same options. It has one
// ordinary hold of package lock, its base, which it acquires and releases through the same door as a
// user. Its goroutines have turns of the base: a turn is the hold of one goroutine. So these rules suffice:
//
//   - A turn is held only while its base is held. When the base ends, its turns end before anybody can
//     ask for the next base.
//   - A turn begins only on a base that may be trusted at that moment, and whose time is not over.
//   - An exclusive base has one turn at a time. It is lost, or its release is answered, before the cohort
//     asks for the next one. There are two exceptions, in which the next caller asks beside the release and
//     Redis alone excludes: the time of the caller who releases is up before the answer, or the base was
//     unconfirmed or detached when its last turn ended.
//   - Whoever takes a base out of the cohort releases it, whatever becomes of the caller.
//   - Who only tries never stands in line. It gets a turn that is free now, or asks Redis once.
//
// Between any two lines this can happen:
//
//	the process dies       Redis frees the lock after one lease, also if no turn is under way
//	the base is lost       all turns end with ErrLost. A caller that was let in, but does not have its
//	                       hold yet, enters again
//	the caller cancels     in line, it leaves the line. Once let in, it ends its turn, and the next
//	                       begins. While it asks Redis, its request is cancelled like any other, and the
//	                       next in line asks
//	the release fails      it is logged. The next in line asks, and waits for the lease to end
//	the client shuts down  callers in line get ErrClosed. Turns go on, and the base ends after the last
//	the client closes      callers in line get ErrClosed. The base ends, and with it its turns
//
// The mutex of a cohort is taken below that of a grant (package lock), because the end of a base is told
// with the grant's mutex held. Below a cohort's mutex no method of a hold is called but those that say so.
package cohort

// Package session lets the independent watchdog renew a client's holds while its process is
// paused. Package watchdog describes the whole.
//
// A client has a pulse, a heartbeat and a session:
//
//   - The pulse is a connection that is subscribed to a channel of the client's own. The kernel
//     keeps it open while the process is paused, and closes it when the process dies. Each
//     connection has a channel with a fresh name, which the client tells Redis with its next
//     heartbeat.
//   - The heartbeat says that the process runs. It is sent every sixth of a lease and is
//     overdue after a quarter.
//   - The session is a hash in Redis of what the client holds.
//
// # How the session in Redis comes to say what the client holds
//
// The client's own registry is authoritative. A grant enters it with its first hold, and leaves it with its end. Each
// change makes the key of the grant unconfirmed. The loop tells Redis what the registry says of unconfirmed keys, many in
// one request, until Redis has confirmed that and the registry still says the same. No request about a lock waits for
// that. A hold is on record after one round trip, or after two if another request of the loop is under way. Redis is told
// nothing of a hold that has ended before the loop could tell it.
//
//	a reply to the loop is lost            The request is repeated. After the command timeout it
//	                                       counts as a missed heartbeat.
//	Redis lost the session, or a           The next heartbeat finds the client unknown, or the
//	watchdog removed it, or somebody       session of another size than it must have: the
//	added to it                            session is removed and written anew. The loop sends
//	                                       one request at a time, so it knows the size however
//	                                       busy the client is.
//	Redis cannot be reached                Redis is told nothing, and no key is noted. When a
//	                                       heartbeat is answered again, the session is removed
//	                                       and written anew.
//	the pulse breaks                       The next connection has another channel. Until
//	                                       Redis knows its name, the client reports that it
//	                                       is not protected.
//	the process dies                       A watchdog removes the session, or it expires two
//	                                       leases after the last heartbeat.
//
// An entry too many is harmless: a watchdog renews only what the owner still holds. An entry that is missing leaves a
// hold unprotected: if the process is paused before the entry is told, and for longer than the lease, the hold is lost.
package session

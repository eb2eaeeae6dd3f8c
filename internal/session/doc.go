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
// The client's own registry is authoritative, and is ahead of Redis: a grant is in it before its
// request leaves, and out of it before the release leaves. Redis is told by a piggybacked call
// in the same write (script.Call.Piggybacked): before the acquisition, and after the release.
// Nobody waits for that call alone. Whatever goes wrong has one consequence: the key becomes
// unconfirmed. Then the loop tells Redis what the registry says of the key, until Redis has
// confirmed that and the registry still says the same.
//
//	the reply to a piggybacked call is     The key is unconfirmed.
//	lost
//	an attempt is cancelled, a hold is     The key is unconfirmed. Nobody has to wait for a
//	lost or detached                       request that says so.
//	Redis lost the session, or a           The next heartbeat finds the client unknown, or the
//	watchdog removed it                    session too small: all keys are unconfirmed.
//	somebody added to the session          The next heartbeat finds it too large: the session
//	                                       is removed and written anew.
//	Redis cannot be reached                Redis is told nothing, and no key is noted. When a
//	                                       heartbeat is answered again, the session is removed
//	                                       and written anew.
//	the pulse breaks                       The next connection has another channel. Until
//	                                       Redis knows its name, the client reports that it
//	                                       is not protected.
//	the process dies                       A watchdog removes the session, or it expires two
//	                                       leases after the last heartbeat.
//
// An entry too many is harmless: a watchdog renews only what the owner still holds. An entry
// that is missing leaves a hold unprotected until the next heartbeat.
//
// One write keeps the order of the session and the lock only if one server has both keys. In a
// cluster they lie on different servers. An acquisition tells both, and waits for both. A release
// waits for the server of the lock alone, and so do the waiters to whom it hands the lock over: the keys are
// unconfirmed from the beginning. If the process is paused between two writes, or if the other server is
// down, a hold may have no entry for that long.
package session

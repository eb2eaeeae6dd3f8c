// Package session is what a client does so that the independent watchdog can renew its
// holds while its process is paused (package watchdog, which has the whole picture).
//
// A client has a pulse, a heartbeat and a session. The pulse is a connection that is
// subscribed to a channel of the client's own: the kernel keeps it while the process is
// paused and closes it when the process dies. Each connection has a channel with a fresh
// name, which the heartbeat tells. The heartbeat says every sixth of a lease
// that the process runs, and is missed after a quarter. The session is a hash of what the
// client holds.
//
// # How the session in Redis comes to say what the client holds
//
// The client's own registry is the truth, and is ahead of Redis: a tenure is in it before
// its request leaves, and out of it before the release leaves. Redis is told in the same
// write, as an aside (script.Call.Aside): before the acquisition, and after the release.
// Nobody waits for that alone. Whatever goes wrong ends in one way: the key is unsure, and
// the loop tells Redis what the registry says of it, now, until Redis has confirmed that
// and the registry still says the same.
//
//	the reply to an aside is lost          the key is unsure
//	an attempt is given up, a hold is      the key is unsure: nobody has to wait for a
//	lost or detached                       request that says so
//	Redis lost the session, a watchdog     the next beat finds the client unknown, or the
//	removed it                             session too small: every key is unsure
//	somebody added to the session          the next beat finds it too large: it is removed
//	                                       and written anew
//	Redis cannot be reached                nothing is told; when a beat is answered again,
//	                                       the session is removed and written anew
//	the pulse breaks                       the next connection has another channel; until
//	                                       Redis knows its name, the client says that it
//	                                       is not protected
//	the process dies                       the watchdog removes the session, or it expires
//	                                       two leases after the last beat
//
// An entry too many is harmless: a watchdog renews only what the owner still holds. An
// entry that is missing leaves a hold unprotected until the next beat.
//
// Between the acquisition and the release in one write, order holds where one server has
// both keys. In a cluster they lie on different ones: a process that is paused between two
// writes, or whose other server is away, may have a hold without an entry for that long.
package session

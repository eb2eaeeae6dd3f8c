// Package cluster is the driver for a Redis Cluster. It is put together from drivers of
// single servers, one for each master, and adds what lies between them: which server has
// a slot, what to do when that turns out to be another one, and a listener that hears
// all of them.
//
// # Where a command goes
//
// To the server of its key's slot, as far as is known; without a key, to any. The parts
// of a pipeline for different servers go side by side and fail independently. Each server
// is connected to by a goroutine of its own, when somebody needs it for the first time.
//
// A server that does not have a slot refuses the command, which has therefore not been
// carried out. MOVED corrects the map; the command is refused with TRYAGAIN, and the
// caller, who knows which of his commands may be repeated and in which order, repeats it.
// Do repeats once by itself. MOVED to the server's own address means that the address
// leads to another server by now, which is then connected to anew.
//
// ASK means that the slot is open, on its way to another server, and that the key is not
// at the first one any more. A lone command goes to the other server, behind an ASKING.
// The slot is remembered as open for some seconds. In a pipeline, commands for one key of
// an open slot go one after another, each to the first server first, to keep their order.
// Those for different keys go side by side, so that many are served in time.
//
// # Servers that die
//
// The map is asked for when a server redirects, refuses because the cluster is down,
// breaks a connection, cannot be reached, or has owed an answer for two looks of the
// keeper, the driver's own goroutine: after 0.2 s at first, then with pauses that grow to
// a second. Several servers are asked, one after another at short distances, those that
// answer before those that do not. The first answer that is not older than what is known
// is taken, by the cluster's epoch. All pauses are shortened by up to a half at random.
//
// A call at a dead server waits there, within its time. If another server takes over its
// slots first, the dead one is hung up on, and its calls fail at once: as not sent, or
// with an unknown outcome. A server that has lost its slots but answers is let go when it
// has been idle for a while, never under a call.
//
// # Messages
//
// A Listener takes wishes. Every server whose slots somebody listens to has an ear: a
// subscription connection that is made anew when it breaks. There each channel is
// subscribed to by SSUBSCRIBE and SUBSCRIBE, so that what one script publishes in both
// ways arrives in its order. At the target of an open slot SSUBSCRIBE alone is used; each
// ear asks its server by CLUSTER NODES, once or twice a second, which slots are open.
//
// A subscription is silent until everything that was asked about it is acknowledged.
// Whatever goes wrong later makes it a wish again, and a Subscribed event follows. Its
// receiver takes that for: messages may have been missed.
package cluster

// Package cluster is the driver for a Redis Cluster. It combines drivers of single
// servers, one for each master. It decides which server a command goes to, follows slots
// that move, and provides one listener for all servers.
//
// # Where a command goes
//
// A command goes to the server that has the slot of its key, as far as the driver knows. A
// command without a key goes to any server. The parts of a pipeline for different servers run
// side by side and fail independently. The driver connects to a server in the background
// when a call needs it for the first time.
//
// A server that does not have a slot refuses the command, and has therefore not carried it
// out. After MOVED the driver corrects its slot map. The command fails with TRYAGAIN; the
// caller knows which commands may be repeated and in which order, and repeats them. Only Do
// repeats once by itself. A server that names its own address in MOVED is another server than
// before, and the driver connects to that address again.
//
// ASK means that the slot is migrating to another server, and that the key is not
// at the first one any more. The driver sends a single command there, behind an ASKING.
// It remembers for some seconds that the slot is migrating. In a pipeline, it then sends
// commands with the same key one after another, each to the first server first, to keep their
// order. It sends those with different keys side by side, so that many take little time.
//
// # Servers that fail
//
// The driver asks for the slot map when a server redirects, breaks a connection, cannot be
// reached, or refuses because the cluster is down. It also does so when a server has calls
// under way but gave no answer between two checks of the topology loop, which is the driver's
// own goroutine. It asks after 0.2 s at first, then with pauses that grow to a second, each
// shortened by up to a half at random. It asks several servers, one after another at short
// distances, and those that answer first. It takes the first answer whose cluster epoch is
// not older than the known one.
//
// A call at a dead server waits there, within its time. If another server takes over its
// slots first, the driver closes the connection, and its calls fail at once: as not sent, or
// with an unknown outcome. The driver also closes the connection to a server that has lost
// its slots but answers, after it has been idle for 10 s, and never under a call.
//
// # Messages
//
// A Listener has a node subscriber for each server that has the slot of a channel: a
// subscription connection that is made again when it breaks. It subscribes to each channel by
// SSUBSCRIBE and SUBSCRIBE, so that what one script publishes in both ways arrives in its
// order. At the target of a migrating slot it uses SSUBSCRIBE alone. Each subscriber asks its
// server by CLUSTER NODES, once or twice a second, which slots are migrating.
//
// A subscription delivers nothing until the server has acknowledged every request for it.
// After any later failure the driver requests it again, and a Subscribed event follows. That
// event tells the receiver that it may have missed messages.
package cluster

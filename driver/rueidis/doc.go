// Package rueidis is redlatch's default driver. It connects to one Redis server through
// github.com/redis/rueidis.
//
// # Connections
//
// One connection carries the commands of all callers: rueidis joins the commands of
// concurrent callers into one write. Each listener has a connection of its own. Dedicated
// pipelines use up to 8 more, each of which is closed after 5 s without use.
//
// A broken connection is made again in the background. Calls wait for it, each within
// its own context and the command timeout. The pauses between attempts to connect grow
// from 10 ms to 1 s, each shortened by up to a half at random. After an outage, listeners
// follow the connection for commands at random, 1.5 s later at most.
//
// A call whose server gives no answer ends within the command timeout, and the driver
// gives up that connection.
//
// An idle connection costs one PING in each command timeout (default: 3 s). The driver
// notices the end of an idle connection, for example to a frozen server, after 2.5
// command timeouts at the latest. Calls under way do not rely on that.
//
// # A server that becomes a replica
//
// A server that answers READONLY has become a replica. The driver then makes all
// connections again, once or twice a second at most, because a DNS name or a virtual IP
// may lead to another server by now. If a new connection for commands leads to another
// address, the driver ends the listeners at the former address.
//
// # Malformed replies
//
// rueidis 1.0.79 trusts the lengths in a reply, and panics on a goroutine of its own if
// one is negative or giant, or if a reply comes that nobody asked for. A panic there ends
// the process. The driver therefore checks all replies before rueidis reads them, and
// ends the connection at the first malformed one. A reply may have 4,194,304 elements, be
// nested 32 deep, and contain strings of 512 MiB.
//
// rueidis also panics on a subscription connection if the server refuses a PING with
// MISCONF (its disk is full) or MASTERDOWN. The driver ends the listener instead.
package rueidis

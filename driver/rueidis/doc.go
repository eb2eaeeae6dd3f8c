// Package rueidis is redlatch's default driver: one Redis server, spoken to
// through github.com/redis/rueidis.
//
// rueidis puts the commands of concurrent callers into one write by itself,
// which is why one connection carries all of them. What it leaves open is
// added here: that a caller's wait for a connection ends with the caller's own
// context, that nobody is given somebody else's context error, and that a
// command which certainly never left is told from one whose fate is unknown.
//
// The means to all three is that rueidis never re-connects. A link is one
// rueidis client allowed to dial exactly once. When its connection breaks, it
// answers every call at once with an error that says so, the driver puts it
// away, and one goroutine of the driver's own makes the next link while the
// callers wait for it, each as long as it pleases.
//
// Commands apart, which keep the server from answering, have links of their own: few,
// used by one call at a time, kept for a while. A call that ends before its replies are
// there takes its link with it, so that none is handed on with a reply still to come.
//
// Where the address is not fixed (Options.Resolve), connections live in eras. Whoever
// knows that the address has changed calls Drop, which ends the era: everything connected
// in it is put away, and what was only being made in it is never put to use.
//
// A server that answers READONLY has become a replica. Then all connections are made anew,
// once or twice a second at most, because a DNS name or a virtual IP may lead elsewhere by
// now. If a new connection for commands leads to another address, listeners at the former
// one end.
//
// # What an idle connection costs
//
// One PING in each command timeout (default: 3 s). The end of an idle connection, to a
// frozen server for example, is noticed after 2.5 command timeouts at the latest. Calls
// under way do not rely on that. A connection whose calls get no answer is given up
// within the command timeout. The pauses between attempts to connect grow from 10 ms to
// 1 s, each shortened by up to a half at random.
//
// # Replies that lie
//
// rueidis 1.0.79 trusts the lengths in a reply. A negative or a giant one makes it panic on
// a goroutine of its own, which ends the process; so does a reply that nobody asked for.
// The driver therefore checks what arrives before rueidis reads it, and ends the
// connection at the first lie. A reply may have 4,194,304 elements and be nested 32 deep,
// and a text in it may be 512 MiB long.
//
// On a subscription connection it also counts which replies are due. rueidis sends a PING
// behind each request to unsubscribe, and panics if the server refuses that PING with
// MISCONF (its disk is full) or MASTERDOWN. The driver ends the listener instead.
package rueidis

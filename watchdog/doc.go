// Package watchdog renews the locks of processes that are paused.
//
// A hold is renewed by the process that has it. When that process stands still, be it
// stopped, starved, or frozen with its machine's scheduler, its own renewal stands still
// with it. A Watchdog is another process, which goes on for it until it is back. The
// command redlatch watchdog runs one; run three, on three machines.
//
// # How a pause is told from death
//
// The kernel keeps the connections of a paused process open, and closes those of a dead
// one. So each client that is protected (redlatch.Config.Protect) has one connection that
// does nothing but be there, its pulse: it is subscribed to a channel of its own, and
// Redis itself counts the subscribers. And each client says regularly that it runs, its
// heartbeat. Three things about a client are in Redis:
//
//	redlatch:sessions             its heartbeat: when the next one is due, by Redis's clock
//	redlatch:session:{client}     its holds: what has to be renewed, and how; and a name
//	redlatch:pulse:{client}:name  its pulse: a channel with one subscriber
//
// Each connection that is a pulse has a channel with a fresh name. A former connection that
// Redis still takes for open says nothing about the client.
//
// A watchdog looks some times a second at the heartbeats that are overdue, and at nothing
// else: what it costs does not grow with the number of locks, nor of clients that run.
// For each client that is overdue, a stalled one:
//
//	heartbeat   pulse   it is      the watchdog
//	on time     any     running    does nothing: the client renews its holds
//	overdue     there   paused     renews its holds, for at most MaxPause
//	overdue     gone    dead       removes the session; the locks end with their leases
//	overdue by more than MaxPause: let go, exactly like a dead one
//
// # Why there is no leader, no claim and no consensus
//
// To renew is to raise the lease if the owner still stands in the lock. That two watchdogs
// do it, or a watchdog and the client itself, or one of them twice, is the same as once.
// What would need consensus is to take a lock away, and no watchdog ever does that: it can
// only renew, or not renew and let time pass. So nothing safe rests on their agreeing. They
// share the work by arithmetic alone: each look tells which of them are alive
// (redlatch:watchdogs:{redlatch:sessions}), and of these the one with the highest hash of
// itself and the client serves that client (rendezvous hashing). It visits the client every
// quarter of its lease. All others visit the client every half, in case that one fails at
// it, or does not exist.
//
// A watchdog that Redis forbids to do its work does not count itself alive.
//
// # What a watchdog does not trust
//
// A client may write its own session as it likes, and a watchdog has more rights than it. So
// a watchdog renews only fields of that very client, upwards, for an hour at most, by one
// short script for each lock, and removes only a session that names the pulse it has asked
// for. What a session, a name or a number out of bounds costs, it costs its client alone.
//
// # Why nobody waits for anybody
//
// Each stalled client is visited by a goroutine of its own, 128 at a time. Large sessions
// wait for each other in a lane of their own, and for nobody else. A server that did
// not answer is asked by one request at a time until it does again. Everything else that is
// meant for it fails at once, and is tried again at the next look.
//
// # Between any two lines
//
// A watchdog keeps nothing that matters: who is stalled, since when and what it holds it
// reads anew each time. What it remembers is when a session was served last, so as not to
// do so too often.
//
//	it dies                          others visit its clients all along, and more often two
//	                                 to three looks later
//	it is paused                     the same; when it goes on it renews once more what
//	                                 may have changed hands, and is refused by the owner's
//	                                 absence
//	the client goes on               its next heartbeat is not overdue; what was under way
//	                                 renews what it holds, or finds it gone
//	the client dies after its pulse  its locks are renewed once more, some milliseconds
//	was seen                         after its death
//	a reply is lost                  the call is repeated; all of them can be
//	Redis restarts empty             there is nothing to do; clients that run bring their
//	                                 sessions back
//	Redis restarts with its data     no client has a pulse any more: those that run come
//	                                 back, sessions of the others are removed
//	a session is removed while its   the client finds it missing at its next heartbeat, and
//	client goes on                   writes it anew; one that has another pulse by then stays
//	the client's slot moves          its pulse is found on the former master
//
// # Times
//
// Everything is measured by Redis's clock. With a lease of L, a client renews after L/3
// and its heartbeat comes every L/6, each due L/12 after that. The worst pause begins
// right before a renewal:
//
//	0         L/3                 7L/12                        L
//	|----------|--------------------|---------------------------|
//	renewed    paused; the last     overdue: the next look      expiry
//	           heartbeat was now    finds it
//
// That leaves 5L/12 for the look and the first renewal: 830 ms of a lease of two seconds.
// From then on a client is visited every quarter of its shortest lease by one watchdog, and
// every half by each other one.
//
// A session expires by itself a while after it was last written, beaten for or served: by
// then its locks are gone, too. So nothing of a client outlives it, even where no watchdog
// is left.
package watchdog

// Package watchdog renews the locks of processes that are paused.
//
// A hold is renewed by the process that has it. When that process is stopped, starved of CPU or
// frozen with its machine, it cannot renew. A Watchdog is another process, which renews for it
// until it is back. The command redlatch watchdog runs one. Run three, on three machines.
//
// # How a pause is told from death
//
// The kernel keeps the connections of a paused process open, and closes those of a dead one. So
// each protected client (redlatch.Config.Protect) has one connection that only exists, its
// pulse. It is subscribed to a channel of its own, and Redis itself counts the subscribers. Each
// client also says regularly that it runs, its heartbeat. Redis has three things about a client:
//
//	redlatch:sessions             its heartbeat: when the next one is due, by Redis's clock
//	redlatch:session:{client}     its session: what has to be renewed, and how, and the name
//	                              of the pulse
//	redlatch:pulse:{client}:name  its pulse: a channel with one subscriber
//
// Each pulse connection has a channel with a fresh name. A former connection that Redis still
// takes for open says nothing about the client.
//
// Some times a second a watchdog looks for overdue heartbeats: that is one look. It reads
// nothing else, and a page of them at most, so its cost does not grow with the number of locks or of
// clients. A client with an overdue heartbeat is stalled:
//
//	heartbeat   pulse   it is      the watchdog
//	on time     any     running    does nothing: the client renews its holds
//	overdue     there   paused     renews its holds, for at most MaxPause
//	overdue     gone    dead       removes the session; the locks end with their leases
//	overdue by more than MaxPause: the same as for a dead one
//
// # Why there is no leader, no claim and no consensus
//
// To renew is to raise the lease if the owner still holds the lock. It makes no difference if
// two watchdogs do that, or a watchdog and the client itself, or one of them twice. Consensus
// would be needed to take a lock away, and no watchdog ever does that: it can only renew, or let
// time pass. So safety does not depend on their agreement.
//
// They share the work by rendezvous hashing. Each look tells which watchdogs are alive
// (redlatch:watchdogs:{redlatch:sessions}). The one with the highest hash of itself and the
// client serves that client: it visits the client every quarter of its lease. All others visit
// the client every half lease, in case the first one fails.
//
// A watchdog that Redis forbids to do its work does not count itself alive.
//
// # What a watchdog does not trust
//
// A client may write anything into its own session, and a watchdog has more rights than a
// client. So a watchdog renews only fields of that very client. It only raises TTLs, to an hour
// at most, by one short script for each lock. It removes only a session that names the pulse it
// has checked. A session, a name or a number out of bounds harms only its own client.
//
// # Why no client delays another
//
// Each look has a budget of visits. The clients that hold something, the new ones and those whose
// last visit failed share it (schedule.plan). Clients that hold nothing get what is left. Stats tell
// how late a watchdog is.
//
// Each stalled client is visited by a goroutine of its own, 128 at a time. Large sessions wait
// for each other in a lane, and no other session waits for them. A server that did not answer
// gets one request at a time until it answers again. All other requests for it fail at once, and
// are tried again at the next look.
//
// # Between any two lines
//
// A watchdog keeps no state that matters. At each look it reads anew who is stalled, since when,
// and what they hold. It only remembers when it visited a client last, so as not to visit it too
// often.
//
//	it dies                          Others visit its clients all the time, and more often two
//	                                 to three looks later.
//	it is paused                     The same. When it resumes, it may renew once more what has
//	                                 changed hands. The script refuses, because the owner does
//	                                 not hold the lock any more.
//	the client resumes               Its next heartbeat is not overdue. Requests that are under
//	                                 way renew what it holds, or find it gone.
//	the client dies after its pulse  Its locks are renewed once more, some milliseconds after
//	was seen                         its death.
//	a reply is lost                  The call is repeated, which is safe for all of them.
//	Redis restarts empty             There is nothing to do. Running clients write their
//	                                 sessions anew.
//	Redis restarts with its data     No client has a pulse any more. Running clients subscribe
//	                                 again; sessions of the others are removed.
//	a session is removed while its   The client finds it missing at its next heartbeat, and
//	client resumes                   writes it anew. A session that has another pulse by then
//	                                 is not removed.
//	the client's slot moves          Its pulse is found on the former master.
//
// # Times
//
// All times are by Redis's clock. With a lease of L, a client renews after L/3. Its heartbeat
// comes every L/6, and the next one is overdue L/12 after it should have come. The worst pause
// begins right before a renewal:
//
//	0         L/3                 7L/12                        L
//	|----------|--------------------|---------------------------|
//	renewed    paused; the last     overdue: the next look      expiry
//	           heartbeat was now    finds it
//
// That leaves 5L/12 for the look and the first renewal: 830 ms of a lease of two seconds. From
// then on one watchdog visits the client every quarter of its shortest lease, and each other one
// every half.
//
// A session expires by itself some time after the last write, heartbeat or visit. By then its
// locks are gone, too. So nothing of a client remains, even if no watchdog is left.
package watchdog

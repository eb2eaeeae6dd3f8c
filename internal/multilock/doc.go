// Package multilock takes several locks as one: all of them for a Multi, a majority on
// independent servers for a Quorum.
//
// Behind the hold of a Multi or a Quorum stands a group of ordinary holds. The group ends when
// fewer of them are left than it needs. A Multi takes its members in one order (ordered). A Quorum
// asks them all at once (vote). Between any two of their requests this can happen:
//
//	the process dies            each member ends with its lease, as any hold does
//	a reply is lost             the member's own acquisition repeats the request, or releases
//	a member is lost            a Multi begins again, a vote goes on without it
//	the caller cancels          the waits end with the group's context, and the holds
//	                            that were taken, and no others, are released
//	a vote cannot be won        the holds that were taken are released; the next vote waits
//	                            until a member that refused may have changed
//	an answer comes too late    the member joins the group, or is released if that has ended
//	a server restarts empty     no new majority counts its grants, for the restart delay
//
// The files: member and set (which locks), order (what one call asks for), multi and quorum (how
// it is taken), group and backend (what is held), lookout (waiting between votes), restart
// (servers that do not count), restore (missing members) and release.
//
// # Mutexes
//
// A member that ends calls MemberEnded with the mutex of its grant held. So whoever holds the
// group's mutex takes no grant's mutex. The order of all mutexes stands in package lock.
package multilock

// Package explore runs the scripts of package script in every possible order, up to a depth, and
// checks every state that this leads to. "make explore" goes deeper than the tests do.
//
// A world (worlds.go) is one kind of lock with its contenders: two or four clients of this library,
// threads of a Redisson client, a watchdog. A move is one thing that can happen, and a story is a
// sequence of moves. The search is breadth-first, so it reports the shortest story to a violation.
// The scripts are the shipped ones, and run in the embedded server. Its clock stands still: time
// passes by moving all TTLs and moments back. A state is what is in the keys, what each client
// believes and has under way, and which requests are still to arrive. The server and its keys are
// interned, so that a script runs once for each pair of keys and request. Two states are compared
// by a hash of 128 bits.
//
// # What is modelled
//
//   - Clients that lock, wait, re-enter on either side, release in part and in full, downgrade,
//     renew, give up, and take back what they may have taken: the logic of the type tenure, with
//     the rules of time of package renew and the readers of replies of package script.
//   - A request may be answered at once. Or other things happen before it is carried out, and
//     after. Two may be under way at a time. Twice in a story a connection breaks: the request or
//     its reply is lost, or the request arrives late, also after it has been sent again. Its
//     sender sends it again or gives up. One request may be late at a time.
//   - Time passes by half a lease. Leases are renewed, or fixed and half as long.
//   - Redisson's threads behave as its scripts do, with a watchdog whose lease is not shorter than
//     ours. They are answered at once. They do not mix the sides of a read-write lock.
//   - A watchdog renews any field of a protected client at any time, by any record.
//   - Fair waiters send beats at any time or not at all.
//
// # What is checked
//
// In every state: there is one writer or there are readers, never both; whoever believes that it
// holds a lock is in its key, which lives for at least as long as Redis has confirmed; everything
// has a TTL that somebody asked for, but the counter of tokens and the queue; queue and deadlines
// agree; a newcomer to a fair lock gets it in the end if all others fall silent.
//
// Of every request: it takes nothing from anybody who lives and shortens no lifetime; it refuses
// only those whom another bars; it sets the count that was asked for; a Multi that is refused
// changes nothing; tokens grow; whoever frees a lock, or downgrades, tells those who wait; nobody
// who lives is overtaken in a queue or thrown out of it.
//
// # What is not
//
// Messages are checked where they are sent, but wake nobody: each client may ask at any time. The
// record of a client's session, the quorum, forced unlocks, servers that restart, fail over or
// move slots, clocks that jump, and hostile keys are the subject of other tests. A renewal and a
// re-entry that find a write side whose release was lost end it without a message; waiters then
// look by themselves. Redisson's requests are never carried out twice: it counts by adding.
// What they do to our places in a fair queue is not judged, for beats come as they like here.
// The commands are those of the embedded server; package script runs on real ones in its own tests.
package explore

// Package explore runs the scripts of package script in every possible order, up to a depth. It
// checks every state that they lead to. "make explore" goes deeper than the tests do.
//
// A world (worlds.go) is one kind of lock with its contenders: two or four redlatch clients,
// threads of a Redisson client, a watchdog. A move is one thing that can happen, and a trace is a
// sequence of moves. The search is breadth-first, so it reports the shortest trace to a violation.
//
// The scripts are the shipped ones, and run in the embedded server. Its clock stands still: time
// passes by moving all TTLs and times back. A state consists of the keys, of what Redis has promised
// each client, and of a request that may still arrive. The keys are interned, so that a script runs once
// for each pair of keys and request. Two states are compared by a hash of 128 bits.
//
// # What is modelled
//
//   - A client asks for whatever its counts allow: it locks, waits, re-enters on either side, releases in
//     part and in full, downgrades, renews, gives up. It has no logic of its own. How a client
//     trusts, repeats, cancels and waits is the code's: the simulation runs that.
//   - A client makes a ticket of its only hold. Any client attaches it at any time, repeats that, or moves the hold back.
//   - A client believes that it holds the lock from the moment when Redis grants it to the moment when Redis
//     may end it. That is more than a client that reads its reply later and ends its trust earlier.
//   - A request is answered at once. Twice in a trace it is not: a copy of it is late, or it is late itself
//     and its sender gives it up. What is late arrives between any two later moves, or never. One
//     request may be late at a time. So an answer that is not heard is one case of this.
//   - A late renewal may be the one that its sender waits for.
//   - Time passes by half a lease. Some leases are half as long.
//   - Redisson's threads behave as its scripts do, with a watchdog whose lease is at least as long
//     as the longest here. They are answered at once. They do not mix the sides of a read-write
//     lock.
//   - A watchdog renews any field of a protected client at any time, by any session entry.
//   - Fair waiters send keep-alives at any time or not at all.
//   - An administrator changes how many leased permits there are. A request of its may be repeated, or
//     be late.
//
// The numbered requests for a counter are a space of their own (counters.go), because they have neither an
// owner nor a lease: two senders that acquire, release, drain, set or count down, and a thread of Redisson that
// changes the counter between them. A sender repeats a request, cancels it, or leaves its outcome unknown.
//
// # What is checked
//
// In every state:
//
//   - There is one writer, or there are readers, never both.
//   - A client that believes that it holds a lock is in its key. The key lives for at least as long
//     as Redis has confirmed.
//   - Every key has a TTL that somebody asked for, except the counter of tokens and the queue. The counter has no TTL. The
//     queue has a TTL of its own, and may have none in a world with threads of Redisson.
//   - The queue and its deadlines agree.
//   - A new client gets a fair lock in the end if all others fall silent.
//
// After every request:
//
//   - It takes nothing from a live owner and shortens no lifetime, except that a ticket's owner has an heir.
//   - It refuses an owner only if another one bars it.
//   - It sets the requested count.
//   - A Multi that is refused changes nothing.
//   - Tokens grow, and all tokens of a block are new.
//   - A request that frees a lock, or downgrades, tells those who wait.
//   - It neither overtakes a live waiter in a queue nor removes it. Whoever is queued comes last. During an outage, silent
//     waiters count as live.
//
// Of leased permits, in every state:
//
//   - The counter and the permits in use are together as many as were made.
//   - A client that believes that it holds a permit is among those in use.
//   - Nobody is refused a permit that is available, and nobody gets one where more are held than there are.
//
// Of a counter: each request happens once or not at all, as its sender is told. It changes nothing after its
// sender was told that it has ended.
//
// # What is not checked
//
// Messages are checked where locks and leased permits send them, but wake nobody: each client may ask at any time.
// How the votes of a Quorum count is the code's affair: the simulation runs it. Other tests cover the session records, forced unlocks, hostile keys, clocks that
// jump, and servers that restart, fail over or migrate slots.
//
// A renewal or a re-entry may find a write hold whose release was lost. It ends that hold without
// a message; waiters then try at their own time. Redisson's requests are never carried out twice,
// because it counts by adding. What they do to redlatch waiters in a fair queue is not checked,
// because keep-alives come at any time here. The commands are those of the embedded server. The
// tests of package script run on real ones.
package explore

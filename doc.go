// Package redlatch shares locks among processes on many machines through Redis, in
// the exact layout of Java's Redisson, so that Go and Java services contend for the
// very same lock.
//
//	client, err := redlatch.Open(ctx, "redis://127.0.0.1:6379", redlatch.Config{})
//	hold, err := client.Mutex("order:1001").Lock(ctx)
//	defer hold.Unlock(ctx)
//	work(hold.Context()) // ends when the hold is lost
//
// Client.Mutex is the lock that most need. Client.RWMutex has many readers or one writer,
// and Client.FairMutex serves in the order of arrival across all processes. Each of them
// takes WithLease, WithWait and WithFencing. NewMulti makes one lock of several, all or
// nothing, and NewQuorum one that is held on a majority of independent servers.
//
// # What is promised
//
//   - As long as Redis keeps its data, one owner holds a mutex at a time.
//   - A hold is renewed for as long as it is held, and not after. When its holder
//     dies, the lock frees after its lease.
//   - A holder learns of a loss before anybody else can hold the lock: its hold ends
//     on its own clock, a margin before the expiry in Redis, also while the server is
//     frozen or unreachable.
//   - Whatever becomes of a request or its reply, an acquisition takes effect once or
//     not at all, and so does a release.
//   - Waiters are woken by messages, and look for themselves at least every
//     Config.PollCap. Within one process they are served in the order of their coming.
//
// # What is not
//
//   - A process that is paused does not renew. Its locks go to others after their leases,
//     unless the independent watchdog renews them (Config.Protect).
//   - A process that is paused between asking Hold.Valid and its effect acts late.
//     Only the guarded resource itself can refuse it.
//   - A server that fails over to a replica which does not have the newest writes
//     forgets locks that are held.
//   - An operator's ForceUnlock takes the lock away from a holder that works on until
//     its next renewal.
//
// # How it works
//
// An acquisition begins a tenure: one owner's time on one lock. It is one script, and so
// is its release. One engine renews all tenures of a client (internal/renew says
// how it decides whom to believe), one hub wakes all waiters (internal/waitqueue), and
// repeating a script is harmless, which is how lost replies are resolved
// (internal/script). Between any two lines of an acquisition this can happen:
//
//	the process dies         Redis frees the lock after the lease
//	the reply is lost        the same request is sent again
//	the caller gives up      a release follows the request on the same connection
//	the reply comes too late a grant whose deadline has passed is no grant
//	the client closes        waiters get ErrClosed, what was granted is released
//
// # Several locks as one
//
// Behind the hold of a Multi or a Quorum stands a group of ordinary holds. It ends when
// fewer of them are left than it needs: all, or a majority. A Multi takes its members in
// one order (a sweep). A Quorum asks them all at once (a ballot). Between any two of
// their requests this can happen:
//
//	the process dies            each member ends with its lease, as for any hold
//	a reply is lost             the member's own acquisition resolves it, or releases
//	a member is lost            a sweep begins again, a vote goes on without it
//	the caller gives up         the waits end with the group's context, and the holds
//	                            that were taken, and no others, are released
//	a vote cannot be won        the same; the next vote follows a wait for one member
//	an answer comes too late    it joins the group if that still lives, or is released
//	a server restarts empty     no new majority counts its grants, for one lease
//
// docs/multi-and-quorum.md has the rest.
//
// # Owners
//
// A mutex is re-entrant for one owner. Each call of Lock is an owner of its own, unless
// its context comes from Client.WithOwner. Below that context every acquisition
// re-enters. Without WithOwner, taking a lock again below Hold.Context would wait for
// itself: it is reported as ErrReentry.
package redlatch

// Package redlatch provides distributed locks on Redis. Their layout in Redis is that of
// Java's Redisson, so Go and Java services contend for the same locks.
//
//	client, err := redlatch.Open(ctx, "redis://127.0.0.1:6379", redlatch.Config{})
//	hold, err := client.Mutex("order:1001").Lock(ctx)
//	defer hold.Unlock(ctx)
//	work(hold.Context()) // ends when the hold is lost
//
// [Client.Mutex] is the lock that most programs need. [Client.RWMutex] has many readers or
// one writer. [Client.FairMutex] serves in the order of arrival across all processes. Each
// takes [WithLease], [WithWait] and [WithFencing]. [NewMulti] makes one lock of several, all
// or nothing. [NewQuorum] makes one that is held on a majority of independent servers.
// [Client.PermitSemaphore] has several holders. [Client.Semaphore] has permits without owners.
// [Client.Latch] opens when it has been counted down.
//
// # What is promised
//
//   - One owner at a time holds a mutex, as long as Redis keeps its data.
//   - A hold is renewed while it is held, and not afterwards. The lock of a dead holder is
//     free after its lease.
//   - A hold ends on its holder's own clock, a margin before its key expires in Redis. So
//     the holder learns of an expired lease before anybody else can hold the lock. This
//     also holds while the server is frozen or unreachable.
//   - An acquisition takes effect once or not at all, even if a request or its reply is
//     lost. The same holds for a release.
//   - Waiters are woken by messages. Each also asks Redis at least every Config.PollCap, and
//     sooner with Config.Backoff, which needs no messages.
//     Within one process they are served in the order of their arrival.
//
// # What is not promised
//
//   - A paused process does not renew. Its locks go to others after their leases, unless
//     the independent watchdog renews them (Config.Protect).
//   - A process that is paused between [Hold.Valid] and its effect acts late. Only the
//     guarded resource itself can refuse that (package fence).
//   - A failover to a replica that lacks the newest writes forgets locks that are held
//     (WithReplicas, NewQuorum and fencing tokens help).
//   - An operator's ForceUnlock takes the lock from a holder. The holder works on until its
//     next renewal.
//
// # Owners
//
// A lock is re-entrant for one owner. Each call of Lock is an owner of its own, unless its
// context comes from [Client.WithOwner]. All acquisitions below that context have one owner,
// which re-enters the locks that it holds. Without WithOwner, taking a lock again below
// [Hold.Context] would wait for itself. It fails with [ErrReentry] instead.
//
// # Where to read on
//
// docs/README.md lists all pages:
//
//   - docs/errors.md says what each error means.
//   - docs/guarantees.md names the test of each promise.
//   - docs/wire-format.md describes the keys in Redis.
//   - docs/architecture.md leads through the code.
package redlatch

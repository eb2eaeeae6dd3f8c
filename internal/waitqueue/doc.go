// Package waitqueue tells local waiters when to ask Redis for a lock.
//
// All waiters of one process for one lock stand in a queue, first come, first served. Only the
// first of them, the contender, talks to Redis. So the load of a contended lock grows with the
// number of processes and not with the number of waiters. The contender sleeps until one of
// these happens:
//
//   - A message arrives on the lock's channel.
//   - The subscription is acknowledged, for the first time or after a reconnect. Messages
//     that were published before are lost, so the contender tries once more. A listener may
//     also subscribe anew by itself. Nobody asked for the acknowledgement then.
//   - A waiter of this process releases the lock and does not hand it over.
//   - The time comes that the contender has set for itself: the end of the holder's TTL, or
//     the poll cap.
//
// Messages make waiting fast. They are never the only way to wake up. A hub that cannot
// subscribe keeps trying. Meanwhile its waiters wake up by their own timers.
//
// # Hand-over
//
// A local release also sends the contender's request (Release), so that the lock is passed on
// in one round trip. The contender is claimed meanwhile. Complete tells it the result. If a
// claimed waiter has left, Complete reports false. The releasing goroutine then releases what
// was acquired for it.
//
// # Offers
//
// A process that passes the lock on, or asks again at once, would keep other processes out.
// They need longer than one round trip to take the lock. So the queue offers it to them now and
// then. An offer is a release without a request, after which the waiters of this process hold
// back. A goroutine that asks meanwhile joins the queue and holds back too, unless its time
// would be over by then. TryLock does not hold back.
//
// An offer ends when this process has the lock again. These terms describe it:
//
//   - The streak is the releases of this process from the end of an offer to the next offer.
//   - The quota is the number of releases after which a streak is over.
//   - The share of the others is how often each of them releases the lock during an offer, 16 times
//     at most.
//   - The patience is how long the waiters hold back while nothing is heard of the others: 20 ms.
//     After their first release it is two round trips, 1 ms at least: they are awake.
//
// An offer is due if other processes listen, and if the streak has reached the quota or its
// longest time. The longest time is 10 ms, or eight round trips if these take longer. Other
// processes listen if the last release reached more subscribers than this process has. A release
// that reaches others opens a queue even if nobody waits in it, to count the streak. A queue is
// dropped if it was not used for a second.
//
// The waiters hold back from Release on, because the message of the release may arrive before
// its reply. They stop when one of these happens:
//
//   - The others have released the lock half as often as in their last share. An earlier
//     attempt would be in vain.
//   - The patience is over.
//   - The reply to the release says that nobody else listens, or does not come in 100 ms.
//
// Redis also sends a process the messages of its own releases, the echoes. Each release that
// is sent raises the number of echoes that its channel expects. Messages are taken for echoes
// first. A message in excess is that of another process. An echo is lost if it has not come
// after 100 ms without a release, or before a reconnect.
//
// The queue learns from each offer, when the lock is granted here again:
//
//   - The quota becomes twice the share of the others, between 2 and 16. A process that
//     releases the lock after one critical section gets one section in three. Two processes
//     of this library soon give each other 16.
//   - Offers become rare if nobody takes the lock. The pause before the next one grows from
//     20 ms to 1 s, until somebody takes the lock or more processes listen. In between there are
//     short offers of two round trips, for fast processes. They take one part in fifty of the
//     time.
//
// A queue whose channel was not subscribed when the offer began learns nothing from silence.
//
// # Messages are ignored while the lock is held here
//
// Redis publishes a release to all processes, this one included. While a waiter of a queue
// holds the lock, or a release asks for the lock on behalf of one, messages on its channel are
// ignored: no message can let another waiter of this process in. The queue wakes its contender
// when that time ends:
//
//   - at the release (Released);
//   - at the loss (Wake);
//   - when a claimed waiter was refused and a message was ignored meanwhile (Complete).
//
// Whether a message is an echo does not matter here, so a lost message leaves nobody asleep.
//
// The permits of a semaphore are different (Hub.JoinShared): there may be one left for a second
// waiter of this process while the first one has a permit. So a message of another process wakes the
// contender in any case. An echo does not, because the local release hands over or wakes by itself. One
// request asks for the contender and for those behind it. It serves all of them (a latch), or the first of
// them: then the number of those that it asks for follows the number of those that are served.
//
// # Waiters that poll
//
// A waiter with a [Backoff] asks at growing pauses and does not make its queue subscribe. All else is
// as above: it heeds messages that come nevertheless, and a local release claims or wakes it. While
// another waiter of its queue holds the lock, it has nothing to ask for.
//
// Processes that poll are heard by nobody. So while the contender polls, an offer is due after each
// of its longest pauses, and the waiters hold back for another one. Each process with the same pauses
// or shorter ones has asked by then. If nobody took the lock, the next offer comes after eight longest
// pauses. A contender whose wait ends before an offer asks shortly before that.
//
// Readers hold a lock together. When a reader of a batch is let in, refused waiters in front of
// it try again at once (Complete).
//
// # Several places
//
// Several waiters can have a permit of a semaphore each (JoinPlaces). A release claims the first waiter that nobody asks
// for. The contender is the first waiter that is not claimed: it goes on asking while others are claimed. While its
// requests are granted, it asks for more and more waiters together, and releases leave it to do so. After one refusal it
// asks for itself alone.
//
// # What can happen between two lines
//
// A release may look for a contender after a waiter was told its result, and before it enters. Nobody
// claims the waiter then: what is acquired for it once more would be released under it.
//
// A hold may be lost before its waiter knows that it was granted. Then Wake or Release comes
// before Enter, and Enter has no effect on messages. A queue without waiters may be dropped
// while one of its waiters holds the lock. A later queue for the same lock does not know of
// that holder, and reacts to messages that it could ignore. It has also forgotten the streak,
// and what was learned.
//
// Between any two lines of an offer this can happen:
//
//	the waiter leaves         the queue holds back, not the waiter: nothing changes
//	the connection breaks     the patience ends the offer
//	two locks share a channel a release of one by another process ends an offer of the other early
//	a message comes late      after a release of this process it is taken for the echo, and the
//	                          echo for a release of others: the offer ends early
//	the process is paused     the times that it set have passed when it goes on
package waitqueue

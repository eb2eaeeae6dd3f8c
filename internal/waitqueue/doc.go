// Package waitqueue turns messages on channels into turns of local waiters.
//
// All waiters of one process for one lock stand in a queue, first come, first served. Only the
// first of them, the contender, talks to Redis. So the load of a contended lock grows with the
// number of processes and not with the number of waiters. The contender sleeps until one of
// these happens:
//
//   - A message arrives on the lock's channel.
//   - The subscription is acknowledged, for the first time or after a reconnect. Messages
//     that were published before are lost, so the contender tries once more. A listener may
//     also subscribe anew by itself: then nobody asked for the acknowledgement.
//   - A waiter of this process releases the lock and does not hand it over.
//   - The moment comes that the contender set itself: the end of the holder's TTL, or the
//     poll cap.
//
// Messages make waiting fast. They are never the only way to wake up. A hub that cannot
// subscribe keeps trying. Meanwhile its waiters wake up by their own timers.
//
// # Hand-over
//
// A local release takes the contender's request along (Release), so that the lock is passed on
// in one round trip. The contender is claimed meanwhile. Complete tells it the result. If a
// claimed waiter has left, Complete reports false, and the releasing goroutine releases what
// was acquired for it.
//
// After a number of local hand-overs in a row the lock is offered to other processes: it is
// released without a request, and the local contender holds back for a moment. That is done
// only if the last release reached a subscriber of another process, because otherwise nobody
// would take the lock. The contender holds back from Release on, because the message of the
// release may arrive before its reply.
//
// # Messages are ignored while the lock is held here
//
// Redis publishes a release to all processes, this one included. While a waiter of a queue
// holds the lock, or a release asks for the lock on behalf of one, messages on its channel are
// ignored: no message can let another waiter of this process in. The queue wakes its contender
// when that ends: at the release (Released), at the loss (Wake), and when a claimed waiter was
// refused and a message was ignored meanwhile (Complete). Messages are not counted, so a lost
// message leaves no wrong count.
//
// Readers hold a lock together. When a reader of a batch is let in, those who stand in front
// of it and were refused try again at once (Complete).
//
// # What can happen between two lines
//
// A hold may be lost before its waiter knows that it was granted. Then Wake or Release comes
// before Enter, and Enter has no effect on messages. A queue without waiters may be dropped
// while one of its waiters holds the lock. A later queue for the same lock does not know of
// that holder, and reacts to messages that it could ignore.
package waitqueue

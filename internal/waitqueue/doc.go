// Package waitqueue turns messages on channels into turns of local waiters.
//
// All waiters of one process for one lock stand in a [Line], first come, first
// served. Only the one at the front, the contender, talks to Redis, so that the
// load of a contended lock grows with the number of processes and not of waiters.
// The contender sleeps until one of these:
//
//   - a message on the lock's channel;
//   - the acknowledgement of the subscription, also after a reconnect, and also one
//     that nobody asked for, when the listener has subscribed anew by itself: what was
//     published before it is lost, so the contender looks once more;
//   - a local release that could not be handed over;
//   - the moment that it set itself: the holder's TTL, or the poll cap.
//
// Messages make waiting fast and are never the only way to wake up. A hub that
// cannot subscribe goes on trying, and its waiters go by their own clocks.
//
// # Hand-over
//
// A local release takes the contender's request along in its own (Release), so that the
// lock passes on in one round trip. The claimed waiter learns the result by Settle. A
// waiter that leaves while it is claimed lets the releasing goroutine know by Settle's
// reply, and that one gives the lock back.
//
// After a number of local hand-overs in a row the lock is offered to others: it is
// released without a request, and the local contender holds back for a moment. This is
// done only when the last release told somebody else, because otherwise nobody
// would take it. The contender holds back from Release on: the message of the release
// may be here before its answer.
//
// # Held here is heard here
//
// A release is published to everybody, ourselves included. While a waiter of a line holds
// the lock, or a request for one is under way with a release, messages on its channel are
// ignored: nothing that is said there could let another waiter of this process in. The
// line looks for itself when that ends: at the release (Released), at the loss (Look), and
// when a claimed waiter was refused and a message was ignored meanwhile (Settle). Nothing is
// counted that could be lost.
//
// Readers are let in beside readers. So when a reader of a company is let in, whoever of them
// stands in front of it and was refused looks again at once (Settle).
//
// A hold may be lost before its waiter knows that it was granted. Then Look or Release comes
// before Enter, and Enter counts for nothing. A line without waiters may be dropped while
// somebody is inside. A later line for the same channel knows nothing of that, and hears
// messages that it need not hear.
package waitqueue

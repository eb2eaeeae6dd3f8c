// Package wake turns messages on channels into turns of local waiters.
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
// A local release takes the contender's bid along in its own request (Claim), so
// that the lock passes on in one round trip. The claimed waiter learns the result
// by Settle. A waiter that leaves while it is claimed lets the releasing goroutine
// know by Settle's reply, and that one gives the lock back.
//
// After a number of local hand-overs in a row the lock is offered to others: it is
// released without a bid, and the local contender holds back for a moment. This is
// done only when the last release told somebody else, because otherwise nobody
// would take it.
//
// # Messages of our own
//
// A release is published to everybody, ourselves included. The hub counts the
// releases of its own and ignores as many messages: the local contender has
// already been told, and would otherwise ask in vain after each hand-over. Which
// message is whose does not matter, since they all say the same; should the count
// ever be wrong, a contender sleeps until its own moment comes.
package wake

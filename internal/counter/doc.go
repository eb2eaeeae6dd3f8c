// Package counter is what has a number in Redis and no owner: the permits of a [Semaphore], leased or
// not, and the count of a [Latch]. A leased permit itself is a grant of package lock.
//
// Anybody may change a number at any time. So no request can say what it is to be afterwards, as a
// request for a lock does. A request is known by its slot and its number instead (requests), and a
// repeated one is answered from its record in Redis.
//
// Between any two lines of an acquisition this can happen:
//
//	the process dies         what it took stays taken: nobody knows that it had it
//	the reply is lost        the same request is sent again, and finds its record
//	the caller cancels       a cancellation follows. It puts back what the record says
//	the process is paused    after four minutes the record may have expired: ErrUnknownOutcome
//	a refusal is repeated    a cancellation follows as well: the request that was not answered may
//	                         still be on its way
//	the manager closes       waiters get ErrClosed. A request that was under way counts
//
// Between any two lines of a release, or of any other change, this can happen:
//
//	the reply is lost        the same request is sent again, and finds its record
//	no reply comes in time   ErrUnknownOutcome. Nothing undoes the change
//	a copy comes late        its number is lower than that of the record, for as long as that is kept
//
// # Waiting
//
// Only the first waiter of a process for one semaphore asks (package waitqueue), for itself and for those behind it. The
// server serves them in their order, until one wants more than is left. The next one asks at once if all were served, and
// otherwise when a message comes, at a local release, or at the poll cap. Between any two lines of it this can happen:
//
//	a waiter leaves          the one that asks puts its permits back, aside, if the semaphore is still there
//	the one that asks fails  a cancellation puts the permits of all back. The others ask for themselves
//
// Waiters for a latch are asked for together: one answer serves all who waited when it was asked for.
//
// # Goroutines
//
// There is one for each cancellation. It repeats an unanswered one for two minutes, or until Close, which
// waits for it.
package counter

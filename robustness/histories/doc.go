// Package histories records the calls of clients and their results, and checks the record with a
// linearizability checker. A history is linearizable if there is one order of all operations in which a
// lock without faults gives the same results. In that order each operation takes effect between its
// call and its return.
//
// # Operations
//
//	acquisition  granted, refused, or unknown. An unknown one takes the lock at any later moment, or never.
//	             It is unknown if a request of its client had no answer meanwhile: see Wire.
//	release      takes one count away. An unknown one does so at any later moment, or never.
//	end          of a hold that is lost, or whose release is unknown. The lock is left at some moment
//	             after the holder last relied on it.
//	look         reads the mode and the number of holders, or how many permits are available.
//	draining     of a semaphore: takes all permits that are available.
//	resizing     of a semaphore. An unknown one happens at any later moment, or never.
//
// A semaphore is a lock with permits. An acquisition takes one or several, or is refused where fewer are
// available. At the end of a round all permits are back, but for those of calls with ErrUnknownOutcome.
//
// The end of a hold begins at the last moment at which Hold.Valid returned true. So the checker refuses
// a history in which a client is granted a lock while another holder relies on it.
//
// # What is not checked
//
// A refusal is checked only if holders are the lock's one reason to refuse. A fair lock also refuses
// because of its queue. A Multi or a Quorum also refuses because other attempts hold members for a
// moment. A cohort also refuses because it keeps a lock for a moment that nobody uses. For the same
// reason nobody looks at a lock with cohorts. The order in a fair queue has other tests.
package histories

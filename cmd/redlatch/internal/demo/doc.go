// Package demo shows what a lock is for: processes that add one to a number in a
// file, which nothing guards but the lock. Without it, increments are lost within
// a second.
//
// Run is the parent. It starts the workers, which are the same program under a
// hidden verb (Work), kills one of them inside its critical section, and shows how
// the lock comes back.
//
// # Who is believed
//
//	the lock's holder and TTL   Redis, asked by the parent: Mutex.Status
//	who waits, holds, rests     the workers, in JSON lines on their stdout
//	who was inside, and when    the journal, a file that every process appends to
//
// The journal knows nothing of the lock. A worker notes that it enters after the
// lock was granted, and that it leaves before it releases; the kernel puts these
// lines in one order for all processes. So the referee needs no clock to find two
// workers inside at once.
//
// # A killed worker
//
// It left the journal open: inside, and perhaps it has written. The parent closes
// the entry when the kernel says that the process is gone, and the referee takes
// either value of the counter from then on, until the next reader settles which it
// is.
//
// # No process is left over
//
// A worker leaves when its stdin ends, which the parent's death brings about too;
// on Linux the kernel also kills it with its parent. One that does not leave in time
// is killed.
package demo

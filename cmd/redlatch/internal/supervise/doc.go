// Package supervise runs a command for as long as a hold lasts, and no longer. When the
// hold is lost, or cannot be proven in time, the command and everything that it started
// is gone before anybody else can have the lock.
//
// # When
//
// A hold has a deadline, which lies before the expiry in Redis and moves on with each
// renewal. Everything counts back from there:
//
//	                    SIGTERM            SIGKILL
//	start ------ … -------+------------------+----------+------------ expiry in Redis
//	                      |<-- kill-after -->|<-margin->deadline
//
// A renewal that comes before SIGTERM moves all of it on, and the command never knows. A
// hold that is gone already, because somebody forced it, is past waiting for: SIGTERM at
// once, and SIGKILL two seconds later at the most.
//
// # Who
//
// The command has a process group of its own. Signals that reach this process are passed
// on to that group, and so is Ctrl-C, unless the command has the terminal, where the
// kernel sends it by itself: in either case it comes once.
//
//	the command ended        what is left of its group is stopped: it would go on
//	                         working without the lock
//	the hold ended           so is whatever else descends from it, also what moved to a
//	                         session of its own
//
// To find the latter this process becomes their reaper (Linux): orphans become its
// children, and it looks for its descendants in /proc. Elsewhere only the group is known.
//
// If this process is killed, the kernel sends the command a SIGTERM (Linux).
//
// # States
//
//	running   ── the command ends ─────▶  sweeping  ── its group is gone ──▶  over
//	   │                                     │
//	   └── the hold is lost, or its time is near: stopping ── all are gone ──▶  over
//
// One goroutine does all of it, on one thread: the kernel takes the end of the thread
// that started the command for the end of its parent.
package supervise
